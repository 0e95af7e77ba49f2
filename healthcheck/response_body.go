package healthcheck

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"strconv"
	"strings"

	"fairlead/router/route"
)

// maxBody is how much of a body is looked into.
const maxBody = 64 << 10

// judgeBody looks for what the check wants in the first 64 KiB of the body.
func (s *Spec) judgeBody(in *bufio.Reader, h *head, r Result, watch *stopwatch) Result {
	body, err := h.body(in)
	if err != nil {
		return r.fail(err.verdict())
	}
	n, missing, readErr := s.look(body)
	r.Phases.Body = watch.lap()
	if r.Exchange != nil {
		r.Exchange.BodyBytes = int64(n)
	}
	var malformed *protocolError
	switch {
	case errors.As(readErr, &malformed):
		return r.fail(malformed.verdict())
	case readErr != nil:
		return r.fail(classify(readErr, phaseBody))
	case missing == "":
		r.Message += ", and the body matches"
		return r
	}
	size := fmt.Sprintf("%d bytes", n)
	if n == maxBody {
		size = fmt.Sprintf("of which %d KiB were read", maxBody>>10)
	}
	v := verdict{kind: route.KindBadBody, message: fmt.Sprintf("answered %d, but the body (%s) %s", h.status, size, missing)}
	if coding, found := h.get("Content-Encoding"); found && n > 0 && !strings.EqualFold(coding, "identity") {
		v.message += "; it is compressed, which the probe did not ask for"
	}
	return r.fail(v)
}

// look reads a body until it is known whether it holds what is wanted, and says what is
// missing, "" when nothing is. An expression needs all of the body, or 64 KiB of it; a
// text is found where it stands, also in a body that never ends.
func (s *Spec) look(body io.Reader) (n int, missing string, err error) {
	text := []byte(s.Check.BodyContains)
	held := len(text) == 0
	buf := make([]byte, 0, maxBody)
	for len(buf) < maxBody && err == nil && (!held || s.body != nil) {
		from := max(len(buf)-len(text)+1, 0)
		n, err = body.Read(buf[len(buf):maxBody])
		buf = buf[:len(buf)+n]
		held = held || bytes.Contains(buf[from:], text)
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF) && (!held || s.body != nil):
		return len(buf), "", bodyError(err)
	case !held:
		missing = "does not hold the wanted text"
	case s.body != nil && !s.body.Match(buf):
		missing = "does not match the wanted expression"
	}
	return len(buf), missing, nil
}

// bodyError says what an error of reading a body means; those of the connection stay
// as they are.
func bodyError(err error) error {
	switch {
	case isTimeout(err):
		return err
	case isEnd(err):
		return &protocolError{message: "the backend closed the connection in the middle of the body"}
	case strings.Contains(err.Error(), "chunk") || strings.Contains(err.Error(), "line too long"):
		return &protocolError{message: "the body's chunks are malformed"}
	}
	return err
}

// body is the decoded body of a response to GET or OPTIONS (RFC 9112, section 6.3).
func (h *head) body(in *bufio.Reader) (io.Reader, *protocolError) {
	coding, coded := h.get("Transfer-Encoding")
	length, sized := h.get("Content-Length")
	switch {
	case h.status == 204 || h.status == 304 || h.status < 200:
		return strings.NewReader(""), nil
	case coded && strings.HasSuffix(strings.ToLower(coding), "chunked"):
		return httputil.NewChunkedReader(in), nil
	case coded || !sized:
		return untilClose{in}, nil
	}
	n, err := strconv.ParseUint(length, 10, 63)
	if err != nil {
		return nil, &protocolError{message: "the response's Content-Length is no number"}
	}
	return &sizedBody{in: in, left: int64(n)}, nil
}

// untilClose is a body that ends with the connection.
type untilClose struct{ in io.Reader }

// Read implements io.Reader.
func (b untilClose) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	if err != nil && !isTimeout(err) && isEnd(err) {
		err = io.EOF
	}
	return n, err
}

// sizedBody is a body of a known length.
type sizedBody struct {
	in   io.Reader
	left int64
}

// Read implements io.Reader.
func (b *sizedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, io.EOF
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if b.left > 0 && errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
