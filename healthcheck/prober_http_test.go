package healthcheck

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"fairlead/router/route"
)

// pages answers each request by its path; what is not there is a 404. It keeps the
// request lines.
type pages struct {
	mu    sync.Mutex
	texts map[string]string
	asked []string
}

func (p *pages) dial(context.Context) (net.Conn, error) {
	client, end := net.Pipe()
	go func() {
		defer end.Close()
		buf := make([]byte, 4096)
		n, err := end.Read(buf)
		if err != nil {
			return
		}
		line, _, _ := strings.Cut(string(buf[:n]), "\r\n")
		p.mu.Lock()
		p.asked = append(p.asked, line)
		p.mu.Unlock()
		text, found := p.texts[strings.Fields(line)[1]]
		if !found {
			text = "HTTP/1.1 404 Not Found\r\n\r\n"
		}
		_, _ = io.WriteString(end, text)
	}()
	return client, nil
}

func redirect(status int, location string) string {
	return fmt.Sprintf("HTTP/1.1 %d X\r\nlocation: %s\r\n\r\n", status, location)
}

// TestRedirects: within the backend they are followed, three of them; nothing leads
// elsewhere, and no part of where it would lead is told.
func TestRedirects(t *testing.T) {
	follow := func(c *route.Check) { c.FollowRedirects, c.Path = true, "/0" }
	named := func(c *route.Check) { c.Host = "app.test" }
	blocked := route.KindRedirectBlocked
	for _, tt := range []struct {
		meeting
		to string
	}{
		{meeting{"a path", webCheck(follow), nil, "", "answered 200 after 1 redirect", ""}, "/end"},
		{meeting{"a relative path", webCheck(follow), nil, "", "after 1 redirect", ""}, "end"},
		{meeting{"the same address", webCheck(follow), nil, "", "200", ""}, "http://10.0.0.1/end"},
		{meeting{"the same address with its port", webCheck(follow), nil, "", "200", ""}, "http://10.0.0.1:80/end"},
		{meeting{"the Host that was asked", webCheck(follow, named), nil, "", "200", ""}, "http://APP.test/end"},
		{meeting{"the address although a Host was asked", webCheck(follow, named), nil, "", "200", ""}, "//10.0.0.1/end"},
		{meeting{"to a 404", webCheck(follow), nil, route.KindBadStatus, "answered 404", "healthCheck.path"}, "/nowhere"},
		{meeting{"three", webCheck(follow), nil, "", "after 3 redirects", ""}, "/2"},
		{meeting{"four", webCheck(follow), nil, blocked, "more than 3 redirects", "at most 3"}, "/1"},
		{meeting{"round and round", webCheck(follow), nil, blocked, "more than 3", ""}, "/0"},
		{meeting{"another host", webCheck(follow), nil, blocked, "another host", "same host and port"}, "http://c4nary.example/end"},
		{meeting{"another port", webCheck(follow), nil, blocked, "another port", ""}, "http://10.0.0.1:81/end"},
		{meeting{"another scheme", webCheck(follow), nil, blocked, "another scheme", ""}, "https://10.0.0.1/end"},
		{meeting{"another scheme, same port", webCheck(follow), nil, blocked, "another scheme", ""}, "https://10.0.0.1:80/end"},
		{meeting{"the metadata service", webCheck(follow), nil, blocked, "another host", ""}, "http://169.254.169.254/end"},
		{meeting{"a mail address", webCheck(follow), nil, blocked, "no URL", ""}, "mailto:c4nary@x"},
		{meeting{"nonsense", webCheck(follow), nil, blocked, "no URL", ""}, "http://[c4nary"},
		{meeting{"not followed", webCheck(func(c *route.Check) { c.Path = "/0" }), nil, "", "answered 302", ""}, "/end"},
	} {
		site := &pages{texts: map[string]string{
			"/0": redirect(302, tt.to), "/1": redirect(301, "/2"), "/2": redirect(307, "/3"), "/3": redirect(308, "/end"),
			"/end": ok200,
		}}
		tt.meets = site.dial
		tt.run(t, Config{})
		for _, line := range site.asked {
			if strings.Contains(line, canary) {
				t.Errorf("%s: asked %s", tt.name, line)
			}
		}
	}
	noLocation := meeting{"302 without Location", webCheck(follow), answer("HTTP/1.1 302 X\r\n\r\n"), "", "answered 302", ""}
	noLocation.run(t, Config{})
}

// canary is in values that must never show.
const canary = "c4nary"

// TestBodies: what the first 64 KiB hold decides, however the body is framed.
func TestBodies(t *testing.T) {
	contains := func(text string) func(*route.Check) { return func(c *route.Check) { c.BodyContains = text } }
	matches := func(text string) func(*route.Check) { return func(c *route.Check) { c.BodyRegex = text } }
	head := "HTTP/1.1 200 OK\r\n"
	sized := func(text string) string { return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(text), text) }
	chunked := head + "Transfer-Encoding: chunked\r\n\r\n"
	long := strings.Repeat("x", 64<<10)
	bad, broken := route.KindBadBody, route.KindProtocolError
	for _, tt := range []meeting{
		{"sized", webCheck(contains("ready")), answer(sized("all ready")), "", "the body matches", ""},
		{"sized, connection stays", webCheck(contains("ready")), says(sized("all ready")), "", "", ""},
		{"sized, not there", webCheck(contains("ready")), answer(sized("all well")), bad, "the body (8 bytes) does not hold the wanted text", "healthCheck.body"},
		{"past its length", webCheck(contains("ready")), answer(sized("all") + "ready"), bad, "(3 bytes)", ""},
		{"until the end", webCheck(contains("ready")), answer(head + "\r\nall ready"), "", "", ""},
		{"until the end, not there", webCheck(contains("ready")), answer(head + "\r\nall"), bad, "(3 bytes)", ""},
		{"empty", webCheck(contains("ready")), answer(sized("")), bad, "(0 bytes)", ""},
		{"204", webCheck(contains("ready")), says("HTTP/1.1 204 X\r\n\r\n"), bad, "(0 bytes)", ""},
		{"chunks", webCheck(contains("ready")), answer(chunked + "5\r\nall r\r\n4\r\neady\r\n0\r\n\r\n"), "", "", ""},
		{"chunks, connection stays", webCheck(matches("^all ready$")), says(chunked + "5\r\nall r\r\n4\r\neady\r\n0\r\n\r\n"), "", "", ""},
		{"chunks cut off", webCheck(contains("ready")), answer(chunked + "5\r\nall"), broken, "middle of the body", ""},
		{"chunks malformed", webCheck(contains("ready")), says(chunked + "zz\r\nready\r\n"), broken, "chunks", ""},
		{"the chunk sizes are no text", webCheck(contains("5\r\n")), answer(chunked + "5\r\nall r\r\n0\r\n\r\n"), bad, "(5 bytes)", ""},
		{"a length that is none", webCheck(contains("ready")), answer(head + "Content-Length: 1x\r\n\r\nready"), broken, "Content-Length", ""},
		{"cut off before its length", webCheck(contains("ready")), answer(head + "Content-Length: 99\r\n\r\nall"), broken, "middle of the body", ""},
		{"found before it is cut off", webCheck(contains("ready")), answer(head + "Content-Length: 99\r\n\r\nready"), "", "", ""},
		{"expression", webCheck(matches("^(ok|ready)$")), answer(sized("ready")), "", "", ""},
		{"expression, no match", webCheck(matches("^(ok|ready)$")), answer(sized("not ready")), bad, "does not match the wanted expression", ""},
		{"both, one is there", webCheck(contains("ready"), matches("^ok")), answer(sized("ready")), bad, "expression", ""},
		{"not an expression", webCheck(matches("(")), answer(sized("ready")), route.KindConfigError, "not valid", ""},
		{"behind 64 KiB", webCheck(contains("ready")), answer(sized(long + "ready")), bad, "64 KiB", ""},
		{"at the end of 64 KiB", webCheck(contains("ready")), answer(sized(long[5:] + "ready")), "", "", ""},
		{"endless, found", webCheck(contains("ready")), says(head + "\r\nready and more"), "", "", ""},
		{"endless, silent", webCheck(contains("ready")), says(head + "\r\nrea"), route.KindTimeout, "reading the body (5s)", ""},
		{"endless, expression", webCheck(matches("^ready")), says(head + "\r\nready"), route.KindTimeout, "reading the body", ""},
		{"endless, full speed", webCheck(matches("ready")), answer(head + "\r\n" + long + long), bad, "64 KiB", ""},
		{"in two pieces", webCheck(contains("ready")), pieces(head+"\r\nall rea", "dy"), "", "the body matches", ""},
		{"a bad status first", webCheck(contains("ready")), answer("HTTP/1.1 503 X\r\n\r\nready"), route.KindBadStatus, "503", ""},
		{"compressed", webCheck(contains("ready")), answer(head + "Content-Encoding: gzip\r\n\r\n\x1f\x8b"), bad, "compressed", ""},
		{"HEAD", webCheck(contains("ready"), func(c *route.Check) { c.Method = "HEAD" }), answer(sized("ready")), route.KindConfigError, "HEAD", ""},
		{"OPTIONS", webCheck(contains("ready"), func(c *route.Check) { c.Method = "OPTIONS" }), answer(sized("ready")), "", "", ""},
	} {
		tt.run(t, Config{})
	}
}

// pieces is says in several writes.
func pieces(texts ...string) func(context.Context) (net.Conn, error) {
	return server(func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096))
		for _, text := range texts {
			_, _ = io.WriteString(c, text)
		}
		silent(c)
	})
}

// TestFoundTextEndsTheProbe: what was found in a body that goes on is not waited for.
func TestFoundTextEndsTheProbe(t *testing.T) {
	dial := pieces("HTTP/1.1 200 OK\r\n\r\nready", " and more")
	cfg := Config{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	synctest.Test(t, func(t *testing.T) {
		r := Once(t.Context(), cfg, route.Backend{Host: "10.0.0.1", Port: 80}, route.Check{Type: route.ProbeHTTP, BodyContains: "ready"})
		if !r.Result.OK || r.Result.Duration != 0 {
			t.Errorf("%+v", r.Result)
		}
	})
}

// TestMethods: the method is the one on the wire.
func TestMethods(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
		site := &pages{texts: map[string]string{"/health": ok200}}
		m := meeting{method, webCheck(func(c *route.Check) { c.Method = method }), site.dial, "", "answered 200", ""}
		m.run(t, Config{})
		if len(site.asked) != 1 || site.asked[0] != method+" /health HTTP/1.1" {
			t.Errorf("%s: asked %q", method, site.asked)
		}
	}
}

// TestRedirectsStayAtTheAddress: a name that changes its address between two requests of
// one probe leads nowhere else.
func TestRedirectsStayAtTheAddress(t *testing.T) {
	site := &pages{texts: map[string]string{"/": redirect(302, "/end"), "/end": ok200}}
	var dialled []string
	lookups := 0
	cfg := Config{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			lookups++
			return []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(lookups)})}, nil
		},
		Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
			dialled = append(dialled, address)
			return site.dial(ctx)
		},
	}
	r := Once(t.Context(), cfg, route.Backend{Host: "app.internal", Port: 8080}, route.Check{Type: route.ProbeHTTP, FollowRedirects: true})
	if !r.Result.OK || lookups != 1 || !slices.Equal(dialled, []string{"10.0.0.1:8080", "10.0.0.1:8080"}) {
		t.Errorf("%d look-ups, dialled %v: %+v", lookups, dialled, r.Result)
	}
}
