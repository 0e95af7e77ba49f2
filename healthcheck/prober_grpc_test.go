package healthcheck

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"fairlead/router/route"
)

// script is a server's part of an HTTP/2 connection: it writes frames for stream 1.
type script func(*http2.Framer)

// speaksH2 reads what a probe sends, writes the script's frames in one piece and keeps
// the connection.
func speaksH2(s script) func(context.Context) (net.Conn, error) {
	return server(func(c net.Conn) { playH2(c, s); silent(c) })
}

func playH2(c io.ReadWriter, s script) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
		return
	}
	in := http2.NewFramer(nil, c)
	for {
		frame, err := in.ReadFrame()
		if err != nil {
			return
		}
		if frame.Header().StreamID == 1 && frame.Header().Flags.Has(http2.FlagDataEndStream) {
			break
		}
	}
	var out bytes.Buffer
	s(http2.NewFramer(&out, nil))
	// A socket takes acknowledgements while it is written to; a pipe does not.
	go func() { _, _ = io.Copy(io.Discard, c) }()
	_, _ = c.Write(out.Bytes())
}

// plays joins scripts behind a server's settings.
func plays(parts ...script) script {
	return func(f *http2.Framer) {
		_ = f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 9})
		for _, part := range parts {
			part(f)
		}
	}
}

func fieldsOf(end bool, pairs ...string) script {
	return func(f *http2.Framer) {
		var block bytes.Buffer
		enc := hpack.NewEncoder(&block)
		for i := 0; i < len(pairs); i += 2 {
			_ = enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
		}
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
	}
}

func dataOf(text string) script {
	return func(f *http2.Framer) { _ = f.WriteData(1, false, []byte(text)) }
}

// health answers with a serving status.
func healthOf(state byte) script {
	return func(f *http2.Framer) {
		fieldsOf(false, ":status", "200", "content-type", "application/grpc+proto")(f)
		dataOf("\x00\x00\x00\x00\x02\x08" + string(rune(state)))(f)
		fieldsOf(true, "grpc-status", "0")(f)
	}
}

// grpcStatus answers with trailers only.
func grpcStatus(code int) script {
	return fieldsOf(true, ":status", "200", "content-type", "application/grpc", "grpc-status", strconv.Itoa(code), "grpc-message", canary)
}

// TestGRPCProbe meets the gRPC prober with servers of every kind.
func TestGRPCProbe(t *testing.T) {
	ask := func(edits ...func(*route.Check)) func(*route.Check) { return ofType(route.ProbeGRPC, edits...) }
	shop := func(c *route.Check) { c.GRPCService = "shop.v1.Cart" }
	grpcHead := fieldsOf(false, ":status", "200", "content-type", "application/grpc")
	ended := fieldsOf(true, "grpc-status", "0")
	serving := "\x00\x00\x00\x00\x02\x08\x01"
	broken, notServing, failed := route.KindProtocolError, route.KindGRPCNotServing, route.KindGRPCError
	for _, tt := range []meeting{
		{"SERVING", ask(), speaksH2(plays(healthOf(1))), "", "the server is SERVING", ""},
		{"a service SERVING", ask(shop), speaksH2(plays(healthOf(1))), "", `"shop.v1.Cart" is SERVING`, ""},
		{"NOT_SERVING", ask(), speaksH2(plays(healthOf(2))), notServing, "NOT_SERVING", "application itself"},
		{"UNKNOWN", ask(), speaksH2(plays(healthOf(0))), notServing, "UNKNOWN", ""},
		{"UNKNOWN as an empty message", ask(), speaksH2(plays(grpcHead, dataOf("\x00\x00\x00\x00\x00"), ended)), notServing, "UNKNOWN", ""},
		{"SERVICE_UNKNOWN", ask(shop), speaksH2(plays(healthOf(3))), notServing, "SERVICE_UNKNOWN", "healthCheck.grpcService"},
		{"a state that does not exist", ask(), speaksH2(plays(healthOf(9))), failed, "state 9", ""},
		{"unimplemented", ask(), speaksH2(plays(grpcStatus(12))), route.KindGRPCUnimplemented, "grpc-status 12", "grpc.health.v1.Health"},
		{"no such service", ask(shop), speaksH2(plays(grpcStatus(5))), failed, `"shop.v1.Cart" (grpc-status 5, NOT_FOUND)`, "healthCheck.grpcService"},
		{"trailers only", ask(), speaksH2(plays(grpcStatus(14))), failed, "grpc-status 14 (UNAVAILABLE)", ""},
		{"trailers only, OK and no message", ask(), speaksH2(plays(grpcStatus(0))), broken, "no message", ""},
		{"a status that does not exist", ask(), speaksH2(plays(grpcStatus(99))), failed, "99", ""},
		{"an error after the message", ask(), speaksH2(plays(grpcHead, dataOf(serving), fieldsOf(true, "grpc-status", "13"))), failed, "INTERNAL", ""},
		{"no grpc-status", ask(), speaksH2(plays(grpcHead, dataOf(serving), fieldsOf(true, "x", "y"))), failed, "without a grpc-status", ""},
		{"grpc-status that is no number", ask(), speaksH2(plays(grpcHead, dataOf(serving), fieldsOf(true, "grpc-status", "-1"))), failed, "without a grpc-status", ""},
		{"HTTP 503", ask(), speaksH2(plays(fieldsOf(true, ":status", "503"))), route.KindBadStatus, "HTTP 503 instead of gRPC", "in front of the gRPC server"},
		{"HTTP 502 with an endless page", ask(), speaksH2(plays(fieldsOf(false, ":status", "502"), dataOf("<html>"))), route.KindBadStatus, "502", ""},
		{"a web page", ask(), speaksH2(plays(fieldsOf(false, ":status", "200", "content-type", "text/html"))), broken, "not gRPC", "no gRPC"},
		{"gRPC-Web", ask(), speaksH2(plays(fieldsOf(false, ":status", "200", "content-type", "application/grpc-web"))), broken, "not gRPC", ""},
		{"early hints first", ask(), speaksH2(plays(fieldsOf(false, ":status", "103"), healthOf(1))), "", "SERVING", ""},
		{"a ping and a window first", ask(), speaksH2(plays(func(f *http2.Framer) {
			_ = f.WritePing(false, [8]byte{1})
			_ = f.WriteWindowUpdate(0, 99)
			_ = f.WriteSettingsAck()
		}, healthOf(1))), "", "SERVING", ""},
		{"going away after this one", ask(), speaksH2(plays(func(f *http2.Framer) { _ = f.WriteGoAway(1, http2.ErrCodeNo, nil) }, healthOf(1))), "", "SERVING", ""},
		{"going away before this one", ask(), speaksH2(plays(func(f *http2.Framer) { _ = f.WriteGoAway(0, http2.ErrCodeNo, nil) })), failed, "ended the HTTP/2 connection", ""},
		{"calm down", ask(), speaksH2(plays(func(f *http2.Framer) { _ = f.WriteGoAway(1, http2.ErrCodeEnhanceYourCalm, nil) })), failed, "ENHANCE_YOUR_CALM", ""},
		{"stream reset", ask(), speaksH2(plays(func(f *http2.Framer) { _ = f.WriteRSTStream(1, http2.ErrCodeRefusedStream) })), failed, "REFUSED_STREAM", ""},
		{"push", ask(), speaksH2(plays(func(f *http2.Framer) {
			_ = f.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: []byte{0x88}, EndHeaders: true})
		})), broken, "", ""},
		{"two messages", ask(), speaksH2(plays(grpcHead, dataOf(serving+serving), ended)), broken, "more than one message", ""},
		{"compressed", ask(), speaksH2(plays(grpcHead, dataOf("\x01\x00\x00\x00\x02\x08\x01"), ended)), broken, "compressed", ""},
		{"cut off message", ask(), speaksH2(plays(grpcHead, dataOf("\x00\x00\x00\x00\x09\x08\x01"), ended)), broken, "cut off", ""},
		{"cut off prefix", ask(), speaksH2(plays(grpcHead, dataOf("\x00\x00"), ended)), broken, "cut off", ""},
		{"message in pieces", ask(), speaksH2(plays(grpcHead, dataOf("\x00\x00\x00"), dataOf("\x00\x02\x08"), dataOf("\x01"), ended)), "", "SERVING", ""},
		{"message too long", ask(), speaksH2(plays(grpcHead, dataOf("\x00\x00\x01\x00\x00"))), broken, "longer than 64 KiB", ""},
		{"not a health message", ask(), speaksH2(plays(grpcHead, dataOf("\x00\x00\x00\x00\x03\x0a\x01x"), ended)), broken, "HealthCheckResponse", ""},
		{"frame too long", ask(), speaksH2(plays(func(f *http2.Framer) { _ = f.WriteRawFrame(http2.FramePing, 0, 0, make([]byte, 66000)) })), broken, "longer than 64 KiB", ""},
		{"first frame too long", ask(), speaksH2(func(f *http2.Framer) { _ = f.WriteRawFrame(http2.FrameSettings, 0, 0, make([]byte, 66000)) }), broken, "not HTTP/2", ""},
		{"head too long", ask(), speaksH2(plays(fieldsOf(true, ":status", "200", "x", strings.Repeat("0", 50<<10), "y", strings.Repeat("0", 50<<10)))), broken, "64 KiB", ""},
		{"no settings", ask(), speaksH2(healthOf(1)), broken, "without settings", ""},
		{"data before the head", ask(), speaksH2(plays(dataOf(serving))), broken, "before its head", ""},
		{"chatter without an end", ask(), speaksH2(plays(func(f *http2.Framer) {
			for range maxH2Frames {
				_ = f.WriteWindowUpdate(0, 1)
			}
		})), broken, "no answer", ""},
		{"silent", ask(), server(silent), route.KindTimeout, "waiting for the answer (5s)", "says nothing"},
		{"settings, then silent", ask(), speaksH2(plays()), route.KindTimeout, "waiting for the answer", ""},
		{"half a frame, silent", ask(), says("\x00\x00\x06\x04"), route.KindTimeout, "waiting", ""},
		{"message without an end, silent", ask(), speaksH2(plays(grpcHead, dataOf(serving))), route.KindTimeout, "waiting", ""},
		{"closed at once", ask(), server(func(net.Conn) {}), route.KindHTTPError, "closed the connection", ""},
		{"closed in the middle", ask(), server(func(c net.Conn) { playH2(c, plays(grpcHead, dataOf(serving))) }), failed, "before its answer was complete", ""},
		{"HTTP/1.1", ask(), says("HTTP/1.1 400 Bad Request\r\n\r\n"), broken, "HTTP/1.x", "gRPC needs HTTP/2"},
		{"HTTP/1.1, half a word", ask(), says("HT"), route.KindTimeout, "waiting", ""},
		{"TLS port", ask(), says("\x15\x03\x01\x00\x02\x02\x46"), broken, "TLS bytes", "scheme=https"},
		{"SSH", ask(), says("SSH-2.0-OpenSSH_9.2\r\n"), broken, "SSH", "another service"},
		{"refused", ask(), refuse, route.KindConnectionRefused, "refused", "port 80"},
		{"black hole", ask(), blackhole, route.KindTimeout, "connecting", ""},
		{"a header with a line break", ask(func(c *route.Check) { c.Headers = []route.CheckHeader{{Name: "X", Value: "a\nb"}} }), refuse, route.KindConfigError, "line break", ""},
		{"headers too long", ask(func(c *route.Check) {
			c.Headers = []route.CheckHeader{{Name: "X", Value: route.Secret(strings.Repeat("~", 20<<10))}}
		}), accept, route.KindConfigError, "longer than 16 KiB", ""},
	} {
		tt.run(t, Config{})
	}
}

// TestGRPCProbeByTLS: HTTP/2 must be agreed on.
func TestGRPCProbeByTLS(t *testing.T) {
	ca := newAuthority(t)
	cert := []tls.Certificate{ca.sign(t, farAway, "10.0.0.1")}
	h2 := &tls.Config{Certificates: cert, NextProtos: []string{"h2"}}
	ask := ofType(route.ProbeGRPC, secured)
	play := func(s *tls.Conn) { playH2(s, plays(healthOf(1))); silent(s) }
	for _, tt := range []meeting{
		{"h2", ask, handshake(h2, play), "", "SERVING", ""},
		{"no ALPN", ask, handshake(&tls.Config{Certificates: cert}, play), route.KindProtocolError, "did not agree on HTTP/2", "TLS without HTTP/2"},
		{"http/1.1 only", ask, handshake(&tls.Config{Certificates: cert, NextProtos: []string{"http/1.1"}}, play), route.KindTLSFailure, "no application protocol", "TLS without HTTP/2"},
		{"plain h2c", ask, server(func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_ = http2.NewFramer(c, nil).WriteSettings()
		}), route.KindTLSFailure, "does not speak TLS", "scheme=http"},
		{"unknown authority", ofType(route.ProbeGRPC, secured, func(c *route.Check) { c.TLS.CA = "" }), handshake(h2, play), route.KindTLSFailure, "unknown authority", ""},
	} {
		tt.run(t, Config{CAs: map[string]*x509.CertPool{"lab": ca.pool}})
	}
}

// TestGRPCRequest holds what a probe asks.
func TestGRPCRequest(t *testing.T) {
	seen := make(chan string, 1)
	dial := server(func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
		f := http2.NewFramer(nil, c)
		f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		var b strings.Builder
		for {
			switch frame, err := f.ReadFrame(); frame := frame.(type) {
			case *http2.MetaHeadersFrame:
				for _, field := range frame.Fields {
					b.WriteString(field.Name + "=" + field.Value + " ")
				}
			case *http2.DataFrame:
				seen <- b.String() + strconv.Quote(string(frame.Data()))
				return
			default:
				if err != nil {
					seen <- err.Error()
					return
				}
			}
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	b := route.Backend{Host: "10.0.0.1", Port: 8080}
	cfg := Config{Version: "1.2", Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	r := Once(ctx, cfg, b, route.Check{Type: route.ProbeGRPC, GRPCService: "a.B", Headers: []route.CheckHeader{
		{Name: "X-Key", Value: canary}, {Name: "TE", Value: "gzip"}, {Name: "Content-Type", Value: "text/html"},
	}})
	want := `:method=POST :scheme=http :path=/grpc.health.v1.Health/Check :authority=10.0.0.1:8080 te=trailers ` +
		`content-type=application/grpc x-key=c4nary user-agent=fairlead-health/1.2 "\x00\x00\x00\x00\x05\n\x03a.B"`
	if got := <-seen; got != want {
		t.Errorf("asked\n%s, want\n%s", got, want)
	}
	if r.Result.OK || r.Result.Kind != route.KindHTTPError || r.Exchange.RequestLine != "POST /grpc.health.v1.Health/Check HTTP/2" {
		t.Errorf("%+v", r)
	}
}
