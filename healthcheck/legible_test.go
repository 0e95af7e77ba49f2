package healthcheck

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http2"

	"fairlead/router/route"
)

// TestLegible: one line, printable, cut between letters.
func TestLegible(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"plain", "plain"}, {"a\r\nb\tc\x00d\x7fe", "a  b c d e"}, {"\x1b[2J", " [2J"}, {"\u009b2J\u202eg\u2028", " 2J g..."}, {"\u009b2J\u202eg", " 2J g"}, {"\xff\xfe", ""},
		{"1234567890", "1234567890"}, {"12345678901", "1234567890..."}, {"123456789é", "123456789..."}, {"éé é", "éé é"},
	} {
		if got := legible(tt.text, 10); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
	if got := plain(errors.New("\x1b" + strings.Repeat("x", 1000))); got != " "+strings.Repeat("x", 199)+"..." {
		t.Errorf("an error: %q", got)
	}
}

// hostile is what a backend writes to fill a log and to take over a terminal.
var hostile = strings.Repeat("a", 50_000) + "\x1b[2J"

// hostileCertificate is a self-signed one that holds such texts wherever it can.
func hostileCertificate(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "\x1b[2J" + hostile}, NotBefore: longAgo, NotAfter: farAway,
		DNSNames: append(slices.Repeat([]string{"\x1b[2J"}, 1000), hostile[:500], hostile[1:500], hostile[2:500], hostile),
	}
	slices.Reverse(tmpl.DNSNames)
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// TestBackendsTextsAreLegible: whatever a backend says, all that a probe tells of it is
// printable and short.
func TestBackendsTextsAreLegible(t *testing.T) {
	secure := hostileCertificate(t)
	web := route.Check{Type: route.ProbeHTTP, Path: "/", Scheme: route.SchemeHTTP, Host: "10.0.0.1", FollowRedirects: true}
	with := func(edit func(*route.Check)) route.Check { c := web; edit(&c); return c }
	https := with(func(c *route.Check) { c.Scheme = route.SchemeHTTPS })
	unverified := with(func(c *route.Check) { c.Scheme, c.TLS.InsecureSkipVerify = route.SchemeHTTPS, true })
	body := with(func(c *route.Check) { c.BodyContains = "wanted" })
	letters := strings.Repeat("a", 50_000)
	for name, tt := range map[string]struct {
		check route.Check
		meets func(context.Context) (net.Conn, error)
		words string
	}{
		"certificate of another name": {https, overTLS(secure, ok200), "not for the name 10.0.0.1 but for " + letters[:64] + "..."},
		"certificate, not verified":   {unverified, overTLS(secure, ok200), "answered 200"},
		"reason phrase":               {web, answer("HTTP/1.1 500 " + hostile + "\r\n\r\n"), "answered 500"},
		"name of a field":             {web, answer("HTTP/1.1 200 OK\r\n" + letters + ": x\r\n\r\n"), "answered 200"},
		"value of a field":            {web, answer("HTTP/1.1 200 OK\r\nX: " + hostile + "\r\n\r\n"), "answered 200"},
		"redirect elsewhere":          {web, answer("HTTP/1.1 302 X\r\nLocation: http://" + letters + "/\x9b\r\n\r\n"), "a redirect to another host"},
		"redirect within":             {web, answer("HTTP/1.1 302 X\r\nLocation: /?\u009b2J" + letters + "\u202e=1\r\n\r\n"), "more than 3 redirects"},
		"body":                        {body, answer("HTTP/1.1 200 OK\r\n\r\n" + hostile), "does not hold the wanted text"},
		"greeting":                    {web, says("SSH-" + hostile + "\r\n"), "speaks SSH"},
		"no HTTP":                     {web, says(hostile), "not HTTP/1.x"},
		"chunks":                      {body, answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\x1b[2J" + letters), "malformed"},
		"WebSocket": {with(func(c *route.Check) { c.Type = route.ProbeWebSocket }),
			answer("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + hostile + "\r\n\r\n"), "not for this request"},
		"gRPC": {with(func(c *route.Check) { c.Type = route.ProbeGRPC }),
			speaksH2(plays(fieldsOf(true, ":status", "200", "content-type", "application/grpc", "grpc-status", "2", "grpc-message", letters, letters[:9000], "x"))), "grpc-status 2"},
		"end of HTTP/2": {with(func(c *route.Check) { c.Type = route.ProbeGRPC }),
			speaksH2(plays(func(f *http2.Framer) { _ = f.WriteGoAway(0, 0xfff, []byte(hostile)) })), "ended the HTTP/2 connection"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := Once(t.Context(), Config{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return tt.meets(ctx) }},
				route.Backend{Host: "10.0.0.1", Port: 80}, tt.check)
			if !strings.Contains(r.Result.Message, tt.words) {
				t.Errorf("%s: %.300q, want %q in it", name, r.Result.Message, tt.words)
			}
			wantLegible(t, name, &r)
		})
	}
}

// wantLegible checks every text of a report.
func wantLegible(t *testing.T, name string, r *route.ProbeReport) {
	t.Helper()
	x := &r.Exchange
	texts := append([]string{r.Result.Message, r.Hint, x.StatusLine}, x.ResponseHeaders...)
	if c := x.Certificate; c != nil {
		texts = append(append(texts, c.Subject, c.Issuer, c.Protocol, c.Version), c.Names...)
		if len(c.Names) > maxShown || len(c.Names) == 0 {
			t.Errorf("%s: %d names are listed", name, len(c.Names))
		}
	}
	for i, text := range append(texts, x.RequestLine) {
		most := 300
		if i == len(texts) {
			most = maxShownPath + 20
		}
		if len(text) > most || !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
			t.Errorf("%s: %d bytes: %.100q", name, len(text), text)
		}
	}
}
