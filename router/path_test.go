package router

import (
	"strings"
	"testing"
)

func TestCanonicalPath(t *testing.T) {
	tests := []struct{ raw, match, forward, err string }{
		{raw: "", match: "/"},
		{raw: "/", match: "/"},
		{raw: "/a", match: "/a"},
		{raw: "/a/", match: "/a/"},
		{raw: "/a/b.c/d..e/...", match: "/a/b.c/d..e/..."},
		{raw: "/.well-known/x", match: "/.well-known/x"},
		{raw: "/..well/x", match: "/..well/x"},
		{raw: "/a:b@c!$&'()*+,=~_-", match: "/a:b@c!$&'()*+,=~_-"},

		{raw: "/%61dmin", match: "/admin", forward: "/%61dmin"},
		{raw: "/%7Euser", match: "/~user", forward: "/%7Euser"},
		{raw: "/api/v4/projects/group%2Fproj", match: "/api/v4/projects/group%2Fproj"},
		{raw: "/a%2fb", match: "/a%2Fb", forward: "/a%2fb"},
		{raw: "/a%20b", match: "/a%20b"},
		{raw: "/caf\xc3\xa9", match: "/caf%C3%A9", forward: "/caf\xc3\xa9"},
		{raw: "/caf%c3%a9", match: "/caf%C3%A9", forward: "/caf%c3%a9"},
		{raw: "/pages/[id]-{x}|^`\"<>", match: "/pages/%5Bid%5D-%7Bx%7D%7C%5E%60%22%3C%3E", forward: "/pages/[id]-{x}|^`\"<>"},
		{raw: "/a%3Bb", match: "/a%3Bb"},
		{raw: "/ADMIN", match: "/ADMIN"},

		{raw: "//api//x", match: "/api/x", forward: "//api//x"},
		{raw: "/proxy/http://example.com/", match: "/proxy/http:/example.com/", forward: "/proxy/http://example.com/"},
		{raw: "//", match: "/", forward: "//"},
		{raw: "/a//", match: "/a/", forward: "/a//"},

		{raw: "/public/../admin", match: "/admin", forward: "/admin"},
		{raw: "/public/%2e%2e/admin", match: "/admin", forward: "/admin"},
		{raw: "/public/.%2E/admin", match: "/admin", forward: "/admin"},
		{raw: "/api%2e/x", match: "/api./x", forward: "/api%2e/x"},
		{raw: "/x//../admin", match: "/admin", forward: "/admin"},
		{raw: "/..", match: "/", forward: "/"},
		{raw: "/../../a", match: "/a", forward: "/a"},
		{raw: "/a/..", match: "/", forward: "/"},
		{raw: "/a/b/..", match: "/a/", forward: "/a/"},
		{raw: "/a/.", match: "/a/", forward: "/a/"},
		{raw: "/./a/./b", match: "/a/b", forward: "/a/b"},
		{raw: "/a%2Fb/./c", match: "/a%2Fb/c", forward: "/a%2Fb/c"},
		{raw: "/a/..%2fx/../b", match: "/a/b", forward: "/a/b"},

		// Never decoded twice.
		{raw: "/%252e%252e/", match: "/%252e%252e/"},
		{raw: "/%252Fx", match: "/%252Fx"},

		{raw: "/public/..%2fadmin", err: "hides"},
		{raw: "/app/..%2f..%2fx", err: "hides"},
		{raw: "/app/%2e%2e%2Fx", err: "hides"},
		{raw: "/app/x%2F..", err: "hides"},
		{raw: "/app/x%2f.", err: "hides"},
		{raw: "/app/x%5c..%5Cy", err: "hides"},
		{raw: "/public/..;/admin", err: "hides"},
		{raw: "/a/..;x/b", err: "hides"},
		{raw: "/a/;../b", err: "hides"},
		{raw: "/a/.;x", err: "hides"},
		{raw: `/public/..\admin`, err: "backslash"},
		{raw: "/..%00/", err: "control"},
		{raw: "/a%0d%0ab", err: "control"},
		{raw: "/a%7F", err: "control"},
		{raw: "/a\x00b", err: "control"},
		{raw: "/a\tb", err: "control"},
		{raw: "/a\x7fb", err: "control"},
		{raw: "/a b", err: "space"},
		{raw: "/a#b", err: `'#'`},
		{raw: "/a?b", err: `'?'`},
		{raw: "/%", err: "invalid %"},
		{raw: "/%4", err: "invalid %"},
		{raw: "/%4g", err: "invalid %"},
		{raw: "/%zz", err: "invalid %"},
		{raw: "a", err: "does not begin"},
		{raw: "*", err: "does not begin"},

		{raw: "/a;v=1/b", match: "/a;v=1/b"},
		{raw: "/a;...;b", match: "/a;...;b"},
		{raw: "/x%2F.hidden", match: "/x%2F.hidden"},
	}
	for _, tt := range tests {
		got, err := CanonicalPath(tt.raw)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || got != (Path{}) {
				t.Errorf("%q: %+v, %v; want an error with %q", tt.raw, got, err, tt.err)
			}
			continue
		}
		forward := tt.forward
		if forward == "" {
			forward = tt.match
		}
		if err != nil || got.Match != tt.match || got.Forward != forward {
			t.Errorf("%q: %+v, %v; want match %q, forward %q", tt.raw, got, err, tt.match, forward)
		}
	}
}

func TestCanonicalPathAllocatesOnlyWhenItMustChange(t *testing.T) {
	for _, raw := range []string{"/", "/api/v1/users/42", "/group%2Fproj", "/a;v=1/b.js", "/.well-known/x"} {
		if n := testing.AllocsPerRun(100, func() {
			if p, err := CanonicalPath(raw); err != nil || p.Match != raw {
				t.Fatal(p, err)
			}
		}); n != 0 {
			t.Errorf("%q: %v allocations", raw, n)
		}
	}
}

func TestStripPrefix(t *testing.T) {
	tests := []struct{ raw, prefix, match, forward, err string }{
		{raw: "/api", prefix: "/api", match: "/"},
		{raw: "/api/", prefix: "/api", match: "/"},
		{raw: "/api/x", prefix: "/api", match: "/x"},
		{raw: "/api/x", prefix: "/api/", match: "/x"},
		{raw: "/api/x/", prefix: "/api", match: "/x/"},
		{raw: "/api/x", prefix: "/", match: "/api/x"},
		{raw: "/a%20b/x%2Fy", prefix: "/a%20b", match: "/x%2Fy"},
		{raw: "/a%20b/x%2fy", prefix: "/a%20b", match: "/x%2Fy", forward: "/x%2fy"},
		{raw: "/%61pi/%62", prefix: "/api", match: "/b", forward: "/%62"},
		{raw: "//api//x//y", prefix: "/api", match: "/x/y", forward: "/x//y"},
		{raw: "/api//evil.example", prefix: "/api", match: "/evil.example"},
		{raw: "/v1//api/x", prefix: "/v1/api", match: "/x"},
		{raw: "/app//../app/x", prefix: "/app", match: "/x"},
		{raw: "/apix", prefix: "/api", err: "not under"},
		{raw: "/x", prefix: "/api", err: "not under"},
	}
	for _, tt := range tests {
		p, err := CanonicalPath(tt.raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := StripPrefix(p, tt.prefix)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q without %q: %+v, %v; want an error with %q", tt.raw, tt.prefix, got, err, tt.err)
			}
			continue
		}
		forward := tt.forward
		if forward == "" {
			forward = tt.match
		}
		if err != nil || got.Match != tt.match || got.Forward != forward {
			t.Errorf("%q without %q: %+v, %v; want %q, %q", tt.raw, tt.prefix, got, err, tt.match, forward)
		}
	}
}

func TestAddPrefix(t *testing.T) {
	tests := []struct{ raw, prefix, match, forward, err string }{
		{raw: "/", prefix: "/pre", match: "/pre/"},
		{raw: "/x", prefix: "/pre/", match: "/pre/x"},
		{raw: "/x", prefix: "pre", match: "/pre/x"},
		{raw: "/x", prefix: "", match: "/x"},
		{raw: "/x", prefix: "/", match: "/x"},
		{raw: "/x%2fy", prefix: "/a b", match: "/a%20b/x%2Fy", forward: "/a%20b/x%2fy"},
		{raw: "//x", prefix: "/pre", match: "/pre/x", forward: "/pre//x"},
		{raw: "/x", prefix: "/a/../b", match: "/b/x"},
		{raw: "/x", prefix: "/a/..%2fb", err: "hides"},
	}
	for _, tt := range tests {
		p, err := CanonicalPath(tt.raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := AddPrefix(p, tt.prefix)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q + %q: %+v, %v", tt.prefix, tt.raw, got, err)
			}
			continue
		}
		forward := tt.forward
		if forward == "" {
			forward = tt.match
		}
		if err != nil || got.Match != tt.match || got.Forward != forward {
			t.Errorf("%q + %q: %+v, %v; want %q, %q", tt.prefix, tt.raw, got, err, tt.match, forward)
		}
	}
}

func TestRewritesDoNotAllocateForPlainPaths(t *testing.T) {
	p := Path{Match: "/api/users/1", Forward: "/api/users/1"}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := StripPrefix(p, "/api"); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestCanonicalPrefix(t *testing.T) {
	for value, want := range map[string]string{
		"/a b": "/a%20b", "/a%20b": "/a%20b", "/café": "/caf%C3%A9", "/caf%c3%a9": "/caf%C3%A9",
		"api": "/api", "": "/", "/": "/", "/api/": "/api", "/api//": "/api", "//": "/", "/a/../b": "/b",
		"/100%": "/100%25", "/a?b": "/a%3Fb", "/a#b": "/a%23b", `/a\b`: "/a%5Cb", "/%61": "/a", "/50% %20": "/50%25%20%20",
	} {
		if got, err := CanonicalPrefix(value); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", value, got, err, want)
		}
	}
	for _, value := range []string{"/a%00", "/a\nb", "/a/..;/b", "/a/..%2fb", `/a\..`} {
		if got, err := CanonicalPrefix(value); err == nil {
			t.Errorf("%q is accepted as %q", value, got)
		}
	}
}

// segments decodes a raw path once, merges slashes and removes dot segments.
func segments(t *testing.T, raw string) []string {
	t.Helper()
	var out []string
	for s := range strings.SplitSeq(strings.TrimPrefix(raw, "/"), "/") {
		var b strings.Builder
		for i := 0; i < len(s); i++ {
			if s[i] == '%' {
				b.WriteByte(unhex(s[i+1])<<4 | unhex(s[i+2]))
				i += 2
			} else {
				b.WriteByte(s[i])
			}
		}
		switch b.String() {
		case "", ".":
		case "..":
			out = out[:max(len(out)-1, 0)]
		default:
			out = append(out, b.String())
		}
	}
	return out
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"/", "/a/b", "/a/../b", "/%2e%2e/%2F", "//a//", "/a;b/..;c", "/a b", "/caf\xc3\xa9", "/%252e", "/a%20b/x%2fy/.", "/[x]|",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if p, err := CanonicalPath(raw); err == nil {
			checkPathProperties(t, raw, p)
		}
		if prefix, err := CanonicalPrefix(raw); err == nil {
			if again, err := CanonicalPrefix(prefix); err != nil || again != prefix {
				t.Errorf("prefix %q becomes %q and then %q, %v", raw, prefix, again, err)
			}
		}
	})
}

func checkPathProperties(t *testing.T, raw string, p Path) {
	t.Helper()
	again, err := CanonicalPath(p.Match)
	if err != nil || again.Match != p.Match || again.Forward != p.Match {
		t.Errorf("%q: canonical %q becomes %+v, %v", raw, p.Match, again, err)
	}
	if p.Match[0] != '/' || strings.HasPrefix(p.Match, "//") {
		t.Errorf("%q: match path %q does not begin with one slash", raw, p.Match)
	}
	for _, form := range []string{p.Match, p.Forward} {
		for _, border := range []string{";", "%2F", "%2f", "%5C", "%5c", "%2E", "%2e"} {
			to := "/"
			if strings.EqualFold(border, "%2E") {
				to = "."
			}
			form = strings.ReplaceAll(form, border, to)
		}
		for s := range strings.SplitSeq(form, "/") {
			if s == "." || s == ".." {
				t.Errorf("%q: %q holds a dot segment", raw, form)
			}
		}
	}
	if got, want := segments(t, p.Forward), segments(t, raw); strings.Join(got, "\x00/") != strings.Join(want, "\x00/") {
		t.Errorf("%q: forwarded %q has other segments: %q, want %q", raw, p.Forward, got, want)
	}
	first, _, _ := strings.Cut(p.Match[1:], "/")
	if first == "" {
		return
	}
	stripped, err := StripPrefix(p, "/"+first)
	if err != nil {
		t.Fatalf("%q: stripping %q: %v", raw, first, err)
	}
	if want := strings.TrimPrefix(p.Match, "/"+first); stripped.Match != want && (want != "" || stripped.Match != "/") {
		t.Errorf("%q without %q: %q, want %q", raw, first, stripped.Match, want)
	}
	if strings.HasPrefix(stripped.Forward, "//") || stripped.Forward[0] != '/' {
		t.Errorf("%q without %q: forwarded %q", raw, first, stripped.Forward)
	}
}
