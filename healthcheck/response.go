package healthcheck

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
)

// Limits of a response head (health.md, "Probe rules by type").
const (
	maxHead    = 64 << 10
	maxInterim = 5
)

// protocolError is an answer that is not HTTP/1.x. Its text quotes nothing of the
// answer, which may repeat what the probe sent.
type protocolError struct {
	message string
	clue    clue
}

func (e *protocolError) Error() string { return e.message }

// readResponse reads up to the end of the final response head and returns its
// status. Interim responses are skipped. Errors of the connection come back as they
// are: silence in the middle of a line is a timeout, not a malformed answer.
func readResponse(r *bufio.Reader) (status int, err error) {
	for range maxInterim + 1 {
		status, err = readHead(r)
		if err != nil || status < 100 || status > 199 || status == 101 {
			return status, err
		}
	}
	return 0, &protocolError{message: fmt.Sprintf("more than %d interim responses (1xx)", maxInterim)}
}

// readHead reads one status line and its header fields (RFC 9112, sections 4 and 5).
func readHead(r *bufio.Reader) (int, error) {
	if err := peekProtocol(r); err != nil {
		return 0, err
	}
	h := headReader{r: r, left: maxHead}
	line, err := h.line()
	if err != nil {
		return 0, err
	}
	status, err := parseStatusLine(line)
	if err != nil {
		return 0, err
	}
	for n := 0; ; n++ {
		line, err = h.line()
		if err != nil {
			return 0, err
		}
		if len(line) == 0 {
			return status, nil
		}
		if !fieldLine(line, n == 0) {
			return 0, &protocolError{message: "the response head holds a line that is no header field"}
		}
	}
}

// headReader reads lines within the limit of a head.
type headReader struct {
	r    *bufio.Reader
	left int
	long []byte
}

// line returns the next line without its end. It is valid until the next call.
func (h *headReader) line() ([]byte, error) {
	h.long = h.long[:0]
	for {
		part, err := h.r.ReadSlice('\n')
		if h.left -= len(part); h.left < 0 {
			return nil, &protocolError{message: fmt.Sprintf("the response head is longer than %d KiB", maxHead>>10)}
		}
		switch {
		case err == nil && len(h.long) == 0:
			return trimEnd(part), nil
		case err == nil:
			return trimEnd(append(h.long, part...)), nil
		case errors.Is(err, bufio.ErrBufferFull):
			h.long = append(h.long, part...)
		default:
			return nil, cutShort(err)
		}
	}
}

// cutShort says that a response head ended before its end.
func cutShort(err error) error {
	if isEnd(err) {
		return &protocolError{message: "the backend closed the connection in the middle of the response head"}
	}
	return err
}

func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// peekProtocol looks at the first bytes as they come and recognizes what is not
// HTTP without waiting for a line of it.
func peekProtocol(r *bufio.Reader) error {
	const want = "HTTP/"
	for i := range len(want) {
		b, err := r.Peek(i + 1)
		switch {
		case err != nil && i > 0:
			return cutShort(err)
		case err != nil:
			return err
		case b[i] != want[i]:
			b, _ = r.Peek(r.Buffered())
			return foreign(b)
		}
	}
	return nil
}

// greetings begin the first line of protocols that are met behind a wrong port.
var greetings = []struct{ prefix, name string }{
	{"SSH-", "SSH"},
	{"220 ", "SMTP or FTP"},
	{"220-", "SMTP or FTP"},
	{"+OK", "POP3 or Redis"},
	{"* OK", "IMAP"},
	{"-ERR", "Redis"},
	{"-NOAUTH", "Redis"},
	{"-DENIED", "Redis"},
	{"AMQP", "AMQP"},
	{"RFB ", "VNC"},
	{"RTSP/", "RTSP"},
}

// foreign says what an answer is that is not HTTP/1.x.
func foreign(b []byte) error {
	switch {
	case len(b) >= 2 && (b[0] == 0x15 || b[0] == 0x16) && b[1] == 3:
		return &protocolError{message: "the backend answered plain HTTP with TLS bytes", clue: clueTLSAnswer}
	case len(b) >= 4 && b[0] == 0 && b[3] == 4:
		return &protocolError{message: "the backend answered HTTP/1.1 with HTTP/2 frames", clue: clueHTTP2}
	}
	for _, g := range greetings {
		if bytes.HasPrefix(b, []byte(g.prefix)) {
			return &protocolError{message: "the backend speaks " + g.name + ", not HTTP", clue: clueOtherProtocol}
		}
	}
	return &protocolError{message: "the answer is not HTTP/1.x", clue: clueOtherProtocol}
}

// parseStatusLine reads "HTTP/1.1 200 OK" (RFC 9112, section 4).
func parseStatusLine(line []byte) (int, error) {
	malformed := &protocolError{message: "the status line is malformed"}
	if !bytes.HasPrefix(line, []byte("HTTP/1.")) || len(line) < len("HTTP/1.1 200") {
		return 0, malformed
	}
	minor, code := line[7], line[9:12]
	if minor != '0' && minor != '1' || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return 0, malformed
	}
	status := 0
	for _, c := range code {
		if c < '0' || c > '9' {
			return 0, malformed
		}
		status = status*10 + int(c-'0')
	}
	if status < 100 || status > 599 {
		return 0, &protocolError{message: "the status is not between 100 and 599"}
	}
	return status, nil
}

// fieldLine reports whether a line is a header field or continues one.
func fieldLine(line []byte, first bool) bool {
	if bytes.IndexByte(line, 0) >= 0 {
		return false
	}
	if line[0] == ' ' || line[0] == '\t' {
		return !first
	}
	return bytes.IndexByte(line, ':') > 0
}
