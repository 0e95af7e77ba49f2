package healthcheck

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"fairlead/router/route"
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

func (e *protocolError) verdict() verdict {
	return verdict{kind: route.KindProtocolError, message: e.message, clue: e.clue}
}

// head is the head of a response.
type head struct {
	version string // HTTP/1.1
	status  int
	fields  []field
}

// field is one header field; the value is without white space around it.
type field struct{ name, value string }

// get returns the last value of a field.
func (h *head) get(name string) (string, bool) {
	for _, f := range slices.Backward(h.fields) {
		if strings.EqualFold(f.name, name) {
			return f.value, true
		}
	}
	return "", false
}

// has reports whether a comma-separated field holds a token, in any of its lines.
func (h *head) has(name, token string) bool {
	for _, f := range h.fields {
		if !strings.EqualFold(f.name, name) {
			continue
		}
		for part := range strings.SplitSeq(f.value, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

// maxShown is how many names of fields an exchange lists, and of a certificate.
const maxShown = 100

// show notes the head in an exchange: no value of a field, and of the reason phrase
// only the standard one, since a backend may repeat there what it was sent.
func (h *head) show(x *route.ProbeExchange) {
	if x == nil {
		return
	}
	x.StatusLine = strings.TrimRight(fmt.Sprintf("%s %d %s", h.version, h.status, reason(h.status)), " ")
	x.ResponseHeaders = nil
	for _, f := range h.fields[:min(len(h.fields), maxShown)] {
		if httpguts.ValidHeaderFieldName(f.name) {
			x.ResponseHeaders = append(x.ResponseHeaders, legible(f.name, maxShownName))
		}
	}
}

// reason is the standard reason phrase of the statuses that probes meet, "" for others
// (RFC 9110, section 15).
func reason(status int) string {
	switch status {
	case 101:
		return "Switching Protocols"
	case 200:
		return "OK"
	case 204:
		return "No Content"
	case 301:
		return "Moved Permanently"
	case 302:
		return "Found"
	case 303:
		return "See Other"
	case 304:
		return "Not Modified"
	case 307:
		return "Temporary Redirect"
	case 308:
		return "Permanent Redirect"
	case 400:
		return "Bad Request"
	case 401:
		return "Unauthorized"
	case 403:
		return "Forbidden"
	case 404:
		return "Not Found"
	case 405:
		return "Method Not Allowed"
	case 421:
		return "Misdirected Request"
	case 429:
		return "Too Many Requests"
	case 500:
		return "Internal Server Error"
	case 502:
		return "Bad Gateway"
	case 503:
		return "Service Unavailable"
	case 504:
		return "Gateway Timeout"
	}
	return ""
}

// framing refuses what traffic would refuse, so that no probe passes where every request
// gets 502 (RFC 9112, section 6.3).
func (h *head) framing() error {
	length := ""
	for _, f := range h.fields {
		switch {
		case !httpguts.ValidHeaderFieldName(f.name):
			return &protocolError{message: "a field of the answer has a name that is none (requests would get 502)"}
		case !strings.EqualFold(f.name, "Content-Length"):
		case length != "" && f.value != length:
			return &protocolError{message: "the answer has two different Content-Length fields (requests would get 502)"}
		case f.value == "" || strings.ContainsFunc(f.value, func(r rune) bool { return r < '0' || r > '9' }):
			return &protocolError{message: "the answer has a Content-Length that is no number (requests would get 502)"}
		default:
			length = f.value
		}
	}
	return nil
}

// readResponse reads up to the end of the final response head. Interim responses are
// skipped. Errors of the connection come back as they are: silence in the middle of a
// line is a timeout, not a malformed answer.
func readResponse(r *bufio.Reader) (*head, error) {
	for range maxInterim + 1 {
		h, err := readHead(r)
		if err != nil {
			return nil, err
		}
		if h.status > 199 || h.status == 101 {
			if err := h.framing(); err != nil {
				return nil, err
			}
			return h, nil
		}
	}
	return nil, &protocolError{message: fmt.Sprintf("more than %d interim responses (1xx)", maxInterim)}
}

// readHead reads one status line and its header fields (RFC 9112, sections 4 and 5).
func readHead(r *bufio.Reader) (*head, error) {
	if err := peekProtocol(r); err != nil {
		return nil, err
	}
	lines := headReader{r: r, left: maxHead}
	line, err := lines.line()
	if err != nil {
		return nil, err
	}
	h := &head{}
	if h.status, err = parseStatusLine(line); err != nil {
		return nil, err
	}
	h.version = string(line[:len("HTTP/1.1")])
	for {
		line, err = lines.line()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			return h, nil
		}
		if !h.add(line) {
			return nil, &protocolError{message: "the response head holds a line that is no header field"}
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
			return foreign(b, httpOne)
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

// Names of what probes speak, for messages.
const (
	httpOne = "HTTP/1.x"
	httpTwo = "HTTP/2"
)

// foreign says what an answer is that is not what was wanted.
func foreign(b []byte, wanted string) error {
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
	return &protocolError{message: "the answer is not " + wanted, clue: clueOtherProtocol}
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

// maxFolded bounds the work that folded lines make.
const maxFolded = 8 << 10

// add takes a header field, or the continuation of one (RFC 9112, section 5.2); it is
// false for a line that is neither.
func (h *head) add(line []byte) bool {
	if bytes.IndexByte(line, 0) >= 0 {
		return false
	}
	if line[0] == ' ' || line[0] == '\t' {
		if len(h.fields) == 0 {
			return false
		}
		last := &h.fields[len(h.fields)-1]
		if len(last.value) > maxFolded {
			return true // nothing that matters here is that long
		}
		last.value = strings.TrimSpace(last.value + " " + string(bytes.TrimSpace(line)))
		return true
	}
	name, value, found := bytes.Cut(line, []byte(":"))
	if !found || len(name) == 0 {
		return false
	}
	h.fields = append(h.fields, field{string(name), string(bytes.TrimSpace(value))})
	return true
}
