package healthcheck

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlead/router/route"
)

// request is what a probe sends on HTTP/1.1 (RFC 9112, section 3).
type request struct {
	method, path, host, agent string
	headers                   []route.CheckHeader
	connection                string      // the value of the Connection field
	extra                     [][2]string // further fields of the probe's own
}

var errRequestPart = errors.New("the probe's method, path or host holds a space or a control character, or is empty")

// bytes returns the request head as it is sent.
func (q *request) bytes() ([]byte, error) {
	for _, part := range [...]string{q.method, q.path, q.host} {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return nil, errRequestPart
		}
	}
	fields, err := q.fields()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", q.method, q.path)
	for _, f := range fields {
		b.WriteString(f[0] + ": " + f[1] + "\r\n")
	}
	b.WriteString("\r\n")
	return b.Bytes(), nil
}

// fields are the header fields in the order in which they are sent. Those of the check
// replace the probe's own, except what belongs to the message or the connection.
func (q *request) fields() ([][2]string, error) {
	custom, err := customFields(q.headers)
	if err != nil {
		return nil, err
	}
	given := func(name string) bool {
		return slices.ContainsFunc(custom, func(f [2]string) bool { return strings.EqualFold(f[0], name) })
	}
	fields := [][2]string{{"Host", q.host}}
	for _, f := range [...][2]string{{"User-Agent", q.agent}, {"Accept", "*/*"}} {
		if !given(f[0]) {
			fields = append(fields, f)
		}
	}
	fields = append(fields, [2]string{"Connection", q.connection})
	return append(append(fields, q.extra...), custom...), nil
}

// customFields are the header fields of a check that may be sent.
func customFields(headers []route.CheckHeader) ([][2]string, error) {
	var fields [][2]string
	for _, h := range headers {
		value := h.Value.Reveal()
		if framing[strings.ToLower(h.Name)] {
			continue
		}
		if h.Name == "" || strings.ContainsAny(h.Name, "\r\n\x00: ") || strings.ContainsAny(value, "\r\n\x00") {
			return nil, errors.New("a header of the probe holds a line break, or its name is none")
		}
		fields = append(fields, [2]string{h.Name, value})
	}
	return fields, nil
}

// framing are the fields that belong to the message or the connection.
var framing = map[string]bool{
	"host": true, "connection": true, "keep-alive": true, "proxy-connection": true, "te": true, "trailer": true,
	"transfer-encoding": true, "upgrade": true, "content-length": true,
	"sec-websocket-key": true, "sec-websocket-version": true, "sec-websocket-extensions": true, "sec-websocket-accept": true,
}

// maxShownPath is how much of a path is shown: all that a label may hold. A redirect may
// lead to a longer one.
const maxShownPath = 2048

// show notes the request in an exchange: no value of a header or a query.
func (q *request) show(x *route.ProbeExchange) {
	if x == nil {
		return
	}
	x.RequestLine = q.method + " " + legible(redactQuery(q.path), maxShownPath) + " HTTP/1.1"
	x.RequestHeaders = nil
	fields, err := q.fields()
	if err != nil {
		return
	}
	for _, f := range fields {
		x.RequestHeaders = append(x.RequestHeaders, f[0])
	}
}
