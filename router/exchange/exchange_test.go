package exchange

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"fairlead/router"
)

// lines is a Header of plain lines, in their order.
type lines [][2]string

func (l lines) Get(name string) string {
	for _, f := range l {
		if strings.EqualFold(f[0], name) {
			return f[1]
		}
	}
	return ""
}

func (l lines) List(name string) string {
	var all []string
	for _, f := range l {
		if strings.EqualFold(f[0], name) {
			all = append(all, f[1])
		}
	}
	return strings.Join(all, ", ")
}

func (l lines) Has(name, value string, bare bool) bool {
	return slices.ContainsFunc(l, func(f [2]string) bool { return strings.EqualFold(f[0], name) && (bare || f[1] == value) })
}

func (l lines) Each(yield func(name, value string) bool) {
	for _, f := range l {
		if !yield(f[0], f[1]) {
			return
		}
	}
}

func collect(each func(add func(name, value string))) string {
	var all []string
	each(func(name, value string) { all = append(all, name+"="+value) })
	return strings.Join(all, " ")
}

func TestOutgoing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		in    lines
		edits []Edit
		want  string
	}{
		{"as it came", lines{{"A", "1"}, {"B", "2"}, {"A", "3"}}, nil, "A=1 B=2 A=3"},
		{"hop by hop", lines{{"Connection", "close"}, {"keep-alive", "1"}, {"TE", "x"}, {"Trailer", "x"}, {"Upgrade", "x"}, {"Transfer-Encoding", "x"},
			{"Proxy-Connection", "x"}, {"Proxy-Authenticate", "x"}, {"Proxy-Authorization", "x"}, {"HTTP2-Settings", "x"}, {"Via", "x"}}, nil, "Via=x"},
		{"named in Connection", lines{{"Connection", "A, b"}, {"connection", "C"}, {"A", "1"}, {"B", "2"}, {"C", "3"}, {"D", "4"}}, nil, "D=4"},
		{"aliases", lines{{"X_Forwarded_For", "1"}, {"x-forwarded_for", "1"}, {"REMOTE_USER", "1"}, {"Proxy", "1"}, {"X_Other", "1"}, {"Remote-User", "1"}}, nil, "X_Other=1 Remote-User=1"},
		{"set", lines{{"A", "1"}, {"a", "2"}, {"B", "3"}}, []Edit{{Set, "A", "9"}}, "B=3 A=9"},
		{"delete", lines{{"A", "1"}, {"B", "3"}}, []Edit{{Delete, "a", ""}}, "B=3"},
		{"the later edit wins", lines{{"A", "1"}}, []Edit{{Set, "A", "2"}, {Delete, "A", ""}, {Set, "B", "1"}, {Set, "b", "2"}}, "b=2"},
		{"set after delete", lines{{"A", "1"}}, []Edit{{Delete, "A", ""}, {Set, "A", "2"}}, "A=2"},
		{"a name in Connection does not take ours back", lines{{"Connection", "X-Real-Ip"}, {"X-Real-Ip", "evil"}}, []Edit{{Set, "X-Real-Ip", "ours"}}, "X-Real-Ip=ours"},
	} {
		x := &Exchange{Header: tt.in, Edits: tt.edits}
		if got := collect(x.Outgoing); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestOutgoingResponse(t *testing.T) {
	x := &Exchange{ResponseEdits: []Edit{{Set, "X-Frame-Options", "DENY"}, {Delete, "Server", ""}}}
	res := lines{{"Server", "x"}, {"Connection", "X-Hop"}, {"X-Hop", "1"}, {"Set-Cookie", "a"}, {"Set-Cookie", "b"}, {"X_Forwarded_For", "stays"}}
	got := collect(func(add func(name, value string)) { x.OutgoingResponse(res, add) })
	if got != "Set-Cookie=a Set-Cookie=b X_Forwarded_For=stays X-Frame-Options=DENY" {
		t.Errorf("%q", got)
	}
}

func TestConditions(t *testing.T) {
	x := &Exchange{
		Context: context.Background(), Verb: "GET", HostName: "app.test", Path: router.Path{Match: "/m"}, Client: netip.MustParseAddr("192.0.2.1"),
		Header: lines{{"X-A", "1"}, {"X-A", "2"}}, RawQuery: "a=1&b&c=%20x&d=a+b&e=%zz&%66=g&h=",
	}
	var r router.Request = x
	if r.Method() != "GET" || r.Host() != "app.test" || r.MatchPath() != "/m" || r.ClientAddr() != x.Client {
		t.Error("plain fields")
	}
	if !r.HasHeader("x-a", "2", false) || r.HasHeader("x-a", "3", false) || !r.HasHeader("x-a", "", true) || r.HasHeader("x-b", "", true) {
		t.Error("headers")
	}
	for _, tt := range []struct {
		name, value string
		bare, want  bool
	}{
		{"a", "1", false, true},
		{"a", "2", false, false},
		{"a", "", true, true},
		{"b", "", true, true},
		{"b", "", false, true},
		{"c", " x", false, true},
		{"d", "a b", false, true},
		{"e", "%zz", false, false},
		{"e", "", true, true},
		{"f", "g", false, true},
		{"h", "", false, true},
		{"z", "", true, false},
		{"", "", true, false},
	} {
		if got := r.HasQuery(tt.name, tt.value, tt.bare); got != tt.want {
			t.Errorf("query %+v: %v", tt, got)
		}
	}
}

// TestMatchingDoesNotAllocate: what the table reads of a request costs no memory.
func TestMatchingDoesNotAllocate(t *testing.T) {
	x := &Exchange{Verb: "GET", HostName: "app.test", Path: router.Path{Match: "/m"}, Header: lines{{"X-A", "1"}}, RawQuery: "a=1&b=2"}
	var r router.Request = x
	if n := testing.AllocsPerRun(100, func() {
		_ = r.Method() + r.Host()[:0] + r.MatchPath()[:0]
		_ = r.HasQuery("b", "2", false)
		_ = r.ClientAddr()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestReset keeps no data of the request before, edits with secrets included.
func TestReset(t *testing.T) {
	x := &Exchange{Verb: "GET", Attempts: 3}
	x.SetHeader("X-Key", "canary")
	x.ResponseEdits = append(x.ResponseEdits, Edit{Set, "X-Key", "canary"})
	x.DeleteHeader("X-B")
	edits, responses := x.Edits, x.ResponseEdits
	x.Reset()
	if x.Verb != "" || x.Attempts != 0 || len(x.Edits) != 0 || cap(x.Edits) == 0 {
		t.Errorf("%+v", x)
	}
	if text := fmt.Sprint(edits, responses); strings.Contains(text, "canary") {
		t.Errorf("old edits: %s", text)
	}
}

func TestTokens(t *testing.T) {
	for list, want := range map[string]bool{"upgrade": true, "keep-alive, Upgrade": true, "a,\tUPGRADE ,b": true, "upgrades": false, "": false, "a b": false, ",": false} {
		if HasToken(list, "Upgrade") != want {
			t.Errorf("HasToken(%q) is %v", list, !want)
		}
	}
	valid := map[string]bool{}
	for i := range 256 {
		c := string([]byte{byte(i)})
		if IsToken(c) {
			valid[c] = true
		}
	}
	got := strings.Join(slices.Sorted(maps.Keys(valid)), "")
	if got != "!#$%&'*+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ^_`abcdefghijklmnopqrstuvwxyz|~" {
		t.Errorf("token characters %q", got)
	}
	if IsToken("") || IsToken("a b") || !IsToken("X-Real-Ip") {
		t.Error("IsToken")
	}
}

// counted counts how often a list is asked for.
type counted struct {
	lines
	lists int
}

func (c *counted) List(name string) string {
	c.lists++
	return c.lines.List(name)
}

// TestLongConnectionListIsReadOnce: it is parsed for the message, not for each field;
// empty tokens name nothing.
func TestLongConnectionListIsReadOnce(t *testing.T) {
	h := &counted{lines: lines{{"Connection", strings.Repeat(",", 100) + " ,a,B,c , d,E,F,"}}}
	for _, name := range []string{"A", "b", "C", "D", "e", "f", "G", ""} {
		h.lines = append(h.lines, [2]string{name, "1"})
	}
	x := &Exchange{Header: h}
	if got := collect(x.Outgoing); got != "G=1 =1" || h.lists != 1 {
		t.Errorf("%q with %d lists read", got, h.lists)
	}
	drop := newDropper(strings.Repeat(",", 1<<20))
	if drop.n != 0 || drop.many != nil {
		t.Error("empty tokens are kept")
	}
}

func TestTrailerFields(t *testing.T) {
	x := &Exchange{
		Header: lines{{"Connection", "X-Named"}},
		Edits:  []Edit{{Op: Delete, Name: "X-Edited"}}, ResponseEdits: []Edit{{Op: Set, Name: "X-Set"}},
	}
	request, response := x.RequestTrailer(), x.ResponseTrailer(lines{{"Connection", "close, x-there"}})
	x.Reset() // neither needs it any more
	for name, want := range map[string][2]bool{
		"X-Sum": {true, true}, "Grpc-Status": {true, true}, "X-Named": {false, true}, "X-There": {true, false},
		"X-Edited": {false, true}, "X-Set": {true, false}, "Host": {}, "content-length": {}, "Transfer-Encoding": {},
		"Authorization": {}, "Set-Cookie": {}, "X_Forwarded_For": {}, "X-Real-IP": {}, "Proxy": {}, "TE": {}, "X Y": {}, "": {},
		"Access-Control-Allow-Origin": {},
	} {
		if got := [2]bool{request(name, "v"), response(name, "v")}; got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	if request("X-Sum", "a\x01b") || request("X-Sum", "a\r\nb") {
		t.Error("a control character passes")
	}
}

func TestInterim(t *testing.T) {
	x := &Exchange{ResponseEdits: []Edit{{Op: Delete, Name: "Server"}}}
	h := x.Interim(lines{{"Connection", "X-Hop"}, {"X-Hop", "1"}, {"Server", "s"}, {"Link", "</a>"}, {"link", "</b>"}, {"X Y", "1"}, {"Content-Length", "1"}})
	got := collect(func(add func(name, value string)) {
		h.Each(func(name, value string) bool {
			add(name, value)
			return true
		})
	})
	if got != "Link=</a> link=</b>" || h.Get("Link") != "</a>" || h.List("LINK") != "</a>, </b>" || h.Get("Server") != "" {
		t.Errorf("%q", got)
	}
	if !h.Has("link", "</b>", false) || h.Has("link", "", false) || h.Has("server", "", true) || !h.Has("link", "", true) {
		t.Error("Has")
	}
}
