package healthcheck

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"fairlead/router/route"
)

// Limits of an HTTP/2 exchange.
const (
	maxH2Frame   = 64 << 10
	maxH2Frames  = 1000     // of all kinds, so that a server that only chats comes to an end
	maxH2Request = 16 << 10 // of header fields: one frame without asking the server
)

// statusOK is the only HTTP status of an answer that is gRPC.
const statusOK = 200

// h2Call is one request on a connection of its own: stream 1 (RFC 9113).
type h2Call struct {
	scheme, authority, path string
	fields                  []hpack.HeaderField
	body                    []byte
	text                    []byte // all of it as it is sent; see write
}

// h2Answer is what has come of the answer.
type h2Answer struct {
	status      int // 0 before the head
	contentType string
	grpcStatus  int // -1 without one
	names       []string
	body        []byte
}

// h2Failure is an end of the stream or connection that the server declared.
type h2Failure struct{ message string }

func (e *h2Failure) Error() string { return e.message }

// prepare makes the request of a check's header fields (RFC 9113, section 8.3; gRPC over HTTP/2).
func (c *h2Call) prepare(agent string, headers []route.CheckHeader) error {
	custom, err := customFields(headers)
	if err != nil {
		return err
	}
	if c.authority == "" || !httpguts.ValidHostHeader(c.authority) {
		return errRequestPart
	}
	c.fields = []hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: c.scheme}, {Name: ":path", Value: c.path},
		{Name: ":authority", Value: c.authority}, {Name: "te", Value: "trailers"}, {Name: "content-type", Value: "application/grpc"},
	}
	given := false
	for _, f := range custom {
		name := strings.ToLower(f[0])
		if name == "content-type" || name == "grpc-encoding" || name == "grpc-accept-encoding" {
			continue
		}
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(f[1]) {
			return errors.New("a header of the probe holds what HTTP/2 does not allow")
		}
		given = given || name == "user-agent"
		c.fields = append(c.fields, hpack.HeaderField{Name: name, Value: f[1], Sensitive: true})
	}
	if !given {
		c.fields = append(c.fields, hpack.HeaderField{Name: "user-agent", Value: agent})
	}
	return c.write()
}

// show notes the request in an exchange, without any value.
func (c *h2Call) show(x *route.ProbeExchange) {
	if x == nil {
		return
	}
	x.RequestLine = "POST " + c.path + " HTTP/2"
	for _, f := range c.fields {
		if !f.IsPseudo() {
			x.RequestHeaders = append(x.RequestHeaders, f.Name)
		}
	}
}

// show notes the answer in an exchange, without any value.
func (a *h2Answer) show(x *route.ProbeExchange) {
	if x == nil || a.status == 0 {
		return
	}
	x.StatusLine = strings.TrimRight(fmt.Sprintf("HTTP/2 %d %s", a.status, reason(a.status)), " ")
	x.ResponseHeaders = a.names[:min(len(a.names), maxShown)]
	x.BodyBytes = int64(len(a.body))
}

// do sends the call and reads the answer; answered is called at its first byte. The
// answer is never nil: it holds what had come before an error.
func (c *h2Call) do(conn net.Conn, answered func()) (*h2Answer, error) {
	a := &h2Answer{grpcStatus: -1}
	_, writeErr := conn.Write(c.text)
	// A server may answer and close before it has read all: its answer counts.
	err := a.receive(conn, conn, answered)
	switch {
	case err == nil:
		_ = conn.SetWriteDeadline(time.Now().Add(farewell))
		_ = http2.NewFramer(conn, nil).WriteGoAway(0, http2.ErrCodeNo, nil)
	case writeErr != nil && !errors.As(err, new(*protocolError)):
		err = writeErr
	}
	return a, err
}

// receive reads the answer from r and writes acknowledgements to w.
func (a *h2Answer) receive(w io.Writer, r io.Reader, answered func()) error {
	in := bufio.NewReaderSize(r, 4096)
	err := peekH2(in)
	if err == nil || errors.As(err, new(*protocolError)) {
		answered()
	}
	if err != nil {
		return err
	}
	return a.read(http2.NewFramer(w, in))
}

// write puts the preface, our settings and the whole request into one piece (RFC 9113,
// section 3.4: a client need not wait for the server's preface).
func (c *h2Call) write() error {
	var head, out bytes.Buffer
	enc := hpack.NewEncoder(&head)
	for _, f := range c.fields {
		if err := enc.WriteField(f); err != nil {
			return err
		}
	}
	if head.Len() > maxH2Request {
		return fmt.Errorf("the probe's headers are longer than %d KiB", maxH2Request>>10)
	}
	out.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&out, nil)
	err := errors.Join(
		f.WriteSettings(
			http2.Setting{ID: http2.SettingEnablePush, Val: 0},
			http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: maxHead},
		),
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes(), EndHeaders: true}),
		f.WriteData(1, true, c.body),
	)
	c.text = out.Bytes()
	return err
}

// peekH2 recognizes what is not HTTP/2 by its first bytes: a server's preface begins
// with the length of a SETTINGS frame, whose first byte is 0.
func peekH2(in *bufio.Reader) error {
	first, err := in.Peek(1)
	if err != nil {
		return err
	}
	switch first[0] {
	case 0:
		return nil
	case 'H':
		if err := peekProtocol(in); err != nil {
			return err
		}
		return &protocolError{message: "the backend answered HTTP/2 with HTTP/1.x", clue: clueHTTP1}
	}
	b, _ := in.Peek(in.Buffered())
	return foreign(b, httpTwo)
}

// read reads frames until stream 1 has ended.
func (a *h2Answer) read(f *http2.Framer) error {
	f.SetMaxReadFrameSize(maxH2Frame)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.MaxHeaderListSize = maxHead
	for n := range maxH2Frames {
		frame, err := f.ReadFrame()
		if err != nil {
			return h2Error(err)
		}
		settings, ok := frame.(*http2.SettingsFrame)
		if n == 0 && (!ok || settings.IsAck()) {
			return &protocolError{message: "the answer is not HTTP/2: it begins without settings", clue: clueOtherProtocol}
		}
		if ended, err := a.take(f, frame); ended || err != nil {
			return err
		}
	}
	return &protocolError{message: fmt.Sprintf("more than %d HTTP/2 frames and no answer", maxH2Frames)}
}

// take handles one frame; ended is set when the answer is complete.
func (a *h2Answer) take(f *http2.Framer, frame http2.Frame) (ended bool, err error) {
	switch frame := frame.(type) {
	// That an acknowledgement cannot be sent is no verdict: the answer may be there already.
	case *http2.SettingsFrame:
		if !frame.IsAck() {
			_ = f.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !frame.IsAck() {
			_ = f.WritePing(true, frame.Data)
		}
	case *http2.GoAwayFrame:
		if frame.ErrCode != http2.ErrCodeNo || frame.LastStreamID < 1 {
			return false, &h2Failure{"the backend ended the HTTP/2 connection (" + frame.ErrCode.String() + ")"}
		}
	case *http2.PushPromiseFrame:
		return false, &protocolError{message: "the backend pushes streams, which the probe forbade"}
	case *http2.MetaHeadersFrame:
		if frame.StreamID == 1 {
			err := a.takeFields(frame)
			return frame.StreamEnded() || a.foreign(), err
		}
	case *http2.DataFrame:
		if frame.StreamID == 1 {
			return frame.StreamEnded(), a.takeData(frame.Data())
		}
	case *http2.RSTStreamFrame:
		if frame.StreamID == 1 {
			return false, &h2Failure{"the backend reset the HTTP/2 stream (" + frame.ErrCode.String() + ")"}
		}
	}
	return false, nil
}

// takeFields takes the head of the answer, an interim one, or the trailers.
func (a *h2Answer) takeFields(frame *http2.MetaHeadersFrame) error {
	if frame.Truncated {
		return &protocolError{message: fmt.Sprintf("the response head is longer than %d KiB", maxHead>>10)}
	}
	if a.status == 0 {
		status, err := strconv.Atoi(frame.PseudoValue("status"))
		if err != nil || status < 100 || status > 599 {
			return &protocolError{message: "the status is not between 100 and 599"}
		}
		if status < 200 {
			return nil // interim; the frames are counted
		}
		a.status = status
	}
	for _, field := range frame.RegularFields() {
		a.names = append(a.names, legible(field.Name, maxShownName))
		switch field.Name {
		case "content-type":
			a.contentType = field.Value
		case "grpc-status":
			if n, err := strconv.ParseUint(field.Value, 10, 16); err == nil {
				a.grpcStatus = int(n)
			}
		}
	}
	return nil
}

// foreign reports whether the head alone says that this is no gRPC: its body, an error
// page, is not waited for.
func (a *h2Answer) foreign() bool {
	return a.status != 0 && (a.status != statusOK || !isGRPC(a.contentType))
}

// takeData takes a part of the body, which of a gRPC answer is a message with its length.
func (a *h2Answer) takeData(data []byte) error {
	if a.status == 0 {
		return &protocolError{message: "the answer's body comes before its head"}
	}
	a.body = append(a.body, data...)
	if _, err := grpcFrameLength(a.body); err != nil {
		return &protocolError{message: err.Error()}
	}
	if len(a.body) > maxGRPCFrame {
		return &protocolError{message: fmt.Sprintf("the gRPC answer is longer than %d KiB", (maxGRPCFrame+1)>>10)}
	}
	return nil
}

// h2Error says what an error of reading frames means; those of the connection stay.
func h2Error(err error) error {
	var stream http2.StreamError
	var connection http2.ConnectionError
	switch {
	case errors.Is(err, http2.ErrFrameTooLarge):
		return &protocolError{message: fmt.Sprintf("an HTTP/2 frame is longer than %d KiB", maxH2Frame>>10)}
	case errors.As(err, &stream), errors.As(err, &connection):
		return &protocolError{message: "the backend breaks the rules of HTTP/2"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &h2Failure{"the backend closed the connection before its answer was complete"}
	}
	return err
}
