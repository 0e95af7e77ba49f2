package healthcheck

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzReadResponse: whatever comes, the reader ends, answers with a status of its
// range or an error, never reads past the limits, and does not depend on how the
// bytes are cut. Nothing of the answer is quoted in the error.
func FuzzReadResponse(f *testing.F) {
	for _, s := range []string{
		"", "H", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 204\r\n\r\n", "HTTP/1.1 200 OK\nA: b\n\n", "HTTP/1.1 2",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 101 X\r\n\r\n", "SSH-2.0-x\r\n", "220 mail ESMTP\r\n",
		"\x15\x03\x01\x00\x02\x02\x46", "\x00\x00\x12\x04\x00\x00\x00\x00\x00", "HTTP/2 200\r\n\r\n", "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA: \x00\r\n\r\n", "HTTP/1.1 200 OK\r\n folded\r\n\r\n", "HTTP/1.1 99999 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 5000) + "\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := readResponse(bufio.NewReaderSize(bytes.NewReader(data), 4096))
		status := 0
		if h != nil {
			status = h.status
		}
		if err == nil && (status < 100 || status > 599 || status < 200 && status != 101) {
			t.Fatalf("status %d", status)
		}
		again, errAgain := readResponse(bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(data)), 16))
		if !reflect.DeepEqual(h, again) || (err == nil) != (errAgain == nil) || (h == nil) != (err != nil) {
			t.Fatalf("%+v %v, byte by byte %+v %v", h, err, again, errAgain)
		}
		var malformed *protocolError
		if err != nil && !errors.As(err, &malformed) && !errors.Is(err, io.EOF) {
			t.Fatalf("unexpected error %v", err)
		}
		if malformed != nil && (malformed.Error() == "" || len(malformed.message) > 100) {
			t.Fatalf("the error says %q", malformed.message)
		}
	})
}

// TestFraming: what no request gets through is no success of a probe.
func TestFraming(t *testing.T) {
	for fields, ok := range map[string]bool{
		"Content-Length: 5\r\n":                        true,
		"Content-Length: 5\r\ncontent-length: 5\r\n":   true,
		"Content-Length: 5\r\nContent-Length: 6\r\n":   false,
		"Content-Length: -5\r\n":                       false,
		"Content-Length: 5, 5\r\n":                     false,
		"Content-Length:\r\n":                          false,
		"X Y: 1\r\n":                                   false,
		"X-Content-Length: 1\r\nContent-Length: 2\r\n": true,
	} {
		h, err := readResponse(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\n" + fields + "\r\n")))
		if ok != (err == nil) || ok != (h != nil) {
			t.Errorf("%q: %+v %v, want it taken: %v", fields, h, err, ok)
		}
	}
}
