package healthcheck

import (
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6455 asks for it; nothing is secured by it
	"encoding/base64"
	"fmt"
	"time"

	"fairlead/router/route"
)

// webSocketProber opens a WebSocket and closes it again (RFC 6455).
type webSocketProber struct {
	links *links
	agent string
}

// Probe implements Prober.
func (p *webSocketProber) Probe(ctx context.Context, target Target, spec *Spec) Result {
	c := &spec.Check
	key := newWebSocketKey()
	q := request{
		method: "GET", path: c.Path, host: c.Host, agent: p.agent, headers: c.Headers, connection: "Upgrade",
		extra: [][2]string{{"Upgrade", "websocket"}, {"Sec-WebSocket-Key", key}, {"Sec-WebSocket-Version", "13"}},
	}
	text, err := q.bytes()
	if err != nil {
		return misconfigured(err.Error(), clueNone)
	}
	secure, wrong := p.links.configFor(spec, alpnHTTP1)
	if wrong != nil {
		return misconfigured(wrong.message, wrong.clue)
	}
	watch := startWatch()
	conn, r := p.links.open(ctx, target, spec, secure, watch)
	if conn == nil {
		return r
	}
	defer func() { _ = conn.Close() }()
	q.show(r.Exchange)
	in, h, r := converse(conn, text, r, watch)
	if h == nil {
		return r
	}
	if why := refusedUpgrade(h, key); why != "" {
		v := verdict{kind: route.KindWebSocketRefused, message: why}
		if h.status == 400 && secure == nil && wantsTLS(in) {
			v.clue = clueTLSAnswer
		}
		return r.fail(v)
	}
	// How the goodbye is taken proves nothing.
	_ = conn.SetWriteDeadline(time.Now().Add(farewell))
	_, _ = conn.Write(closeFrame())
	r.OK, r.Message = true, "the WebSocket opened"
	return r
}

// refusedUpgrade says why a response does not open the WebSocket, "" when it does
// (RFC 6455, section 4.1).
func refusedUpgrade(h *head, key string) string {
	accept, _ := h.get("Sec-WebSocket-Accept")
	switch {
	case h.status != 101:
		return fmt.Sprintf("answered %d, wanted 101 (Switching Protocols)", h.status)
	case !h.has("Upgrade", "websocket") || !h.has("Connection", "Upgrade"):
		return "answered 101, but not for a WebSocket"
	case accept != acceptOf(key):
		return "answered 101 with a Sec-WebSocket-Accept that is not for this request"
	}
	if _, found := h.get("Sec-WebSocket-Extensions"); found {
		return "answered 101 with an extension that was not offered"
	}
	return ""
}

func newWebSocketKey() string {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // it never fails
	return base64.StdEncoding.EncodeToString(nonce[:])
}

// acceptOf is what a server makes of a key (RFC 6455, section 4.2.2).
func acceptOf(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // see the import
	return base64.StdEncoding.EncodeToString(sum[:])
}

// closeFrame is a masked close frame with the code 1000 (RFC 6455, sections 5.2 and 7.4).
func closeFrame() []byte {
	var mask [4]byte
	_, _ = rand.Read(mask[:])
	const code = 1000
	return append(append([]byte{0x88, 0x80 | 2}, mask[:]...), code>>8^mask[0], code&0xff^mask[1])
}
