package healthcheck

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/net/http2"
)

// FuzzGRPCMessage: whatever a body holds, it is one whole message or an error, and the
// message is no longer than allowed.
func FuzzGRPCMessage(f *testing.F) {
	for _, s := range []string{
		"", "\x00", "\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x02\x08\x01", "\x01\x00\x00\x00\x02\x08\x01", "\x00\xff\xff\xff\xff",
		"\x00\x00\x00\x00\x02\x08\x01\x00", "\x00\x00\x00\x00\x09\x12\x02hi\x08\x02\x19123", "\x00\x00\x00\x00\x03\x08\x80\x80", "\x00\x00\x00\x00\x02\x0a\x7f",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		message, err := grpcMessage(body)
		if err != nil {
			if message != nil || len(err.Error()) > 100 {
				t.Fatalf("%q and the error %v", message, err)
			}
			return
		}
		if !bytes.Equal(grpcFrame(message), body) || len(body) > maxGRPCFrame {
			t.Fatalf("the message %q of the body %q", message, body)
		}
		if status, err := servingStatus(message); err != nil && (status != 0 || len(err.Error()) > 100) {
			t.Fatalf("%d %v", status, err)
		}
	})
}

// FuzzH2Answer: whatever comes as HTTP/2, the reader ends, within its limits, and does
// not depend on how the bytes are cut.
func FuzzH2Answer(f *testing.F) {
	seed := func(s script) {
		var b bytes.Buffer
		s(http2.NewFramer(&b, nil))
		f.Add(b.Bytes())
	}
	seed(plays(healthOf(1)))
	seed(plays(grpcStatus(12)))
	seed(plays(fieldsOf(false, ":status", "503")))
	seed(plays(func(f *http2.Framer) { _ = f.WriteGoAway(0, http2.ErrCodeNo, nil) }))
	seed(plays(func(f *http2.Framer) { _ = f.WriteRSTStream(1, http2.ErrCodeNo) }))
	for _, s := range []string{"", "HTTP/1.1 400 X\r\n\r\n", "\x15\x03\x01\x00\x02\x02\x46", "SSH-2.0-x\r\n", "\x00\x00\x00\x04\x01\x00\x00\x00\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := readH2(bytes.NewReader(data))
		again, errAgain := readH2(iotest.OneByteReader(bytes.NewReader(data)))
		if (err == nil) != (errAgain == nil) || a.status != again.status || a.grpcStatus != again.grpcStatus || !bytes.Equal(a.body, again.body) {
			t.Fatalf("%+v %v, byte by byte %+v %v", a, err, again, errAgain)
		}
		if len(a.body) > maxGRPCFrame+maxH2Frame || a.status != 0 && (a.status < 200 || a.status > 599) || a.grpcStatus < -1 {
			t.Fatalf("%+v", a)
		}
		if err != nil && !errors.As(err, new(*protocolError)) && !errors.As(err, new(*h2Failure)) && !isEnd(err) {
			t.Fatalf("unexpected error %v", err)
		}
		r := newResult().judgeGRPC(a, "")
		if r.OK != (r.Kind == "") || r.Message == "" {
			t.Fatalf("%+v", r)
		}
	})
}

// readH2 reads an answer as a probe does; what the probe writes is lost.
func readH2(r io.Reader) (*h2Answer, error) {
	a := &h2Answer{grpcStatus: -1}
	return a, a.receive(io.Discard, r, func() {})
}

// TestServingStatus: unknown fields are skipped, the last one counts.
func TestServingStatus(t *testing.T) {
	for _, tt := range []struct {
		message string
		want    uint64
		ok      bool
	}{
		{"", 0, true}, {"\x08\x01", 1, true}, {"\x08\x02\x08\x01", 1, true}, {"\x12\x02hi\x08\x02", 2, true}, {"\x08\x01\x19" + strings.Repeat("x", 8), 1, true},
		{"\x15abcd\x08\x01", 1, true}, {"\x08", 0, false}, {"\x0a\x01x", 0, false}, {"\x00\x01", 0, false}, {"\x0b", 0, false}, {"\x19abc", 0, false},
		{"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, false}, {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 0, false},
	} {
		if got, err := servingStatus([]byte(tt.message)); got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%q: %d %v", tt.message, got, err)
		}
	}
	if got := healthRequest(strings.Repeat("s", 255)); len(got) != 258 || healthRequest("") != nil {
		t.Errorf("%d bytes", len(got))
	}
}
