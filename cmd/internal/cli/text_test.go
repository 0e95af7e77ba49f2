package cli

import (
	"io"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func TestTextOfOthersCannotWriteToTheTerminal(t *testing.T) {
	v := view(t, someVerdicts())
	for i := range v.Entrypoints {
		for j := range v.Entrypoints[i].Health.Backends {
			v.Entrypoints[i].Health.Backends[j].Explain = "a\x1b[2Jb\r\nc\u202ed"
		}
	}
	for _, args := range [][]string{{"health"}, {"route", "list"}, {"route", "resolve", "http://shop.localhost/api"}, {"explain", "http_api"}} {
		if r := liveWorld(t, v).run(args...); strings.ContainsAny(r.out, "\x1b\r\u202e") {
			t.Errorf("%v: %q", args, r.out)
		}
	}
}

func TestColour(t *testing.T) {
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a device of characters, as terminals are
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	for _, c := range []struct {
		w    io.Writer
		env  []string
		want bool
	}{
		{device, nil, true},
		{device, []string{"NO_COLOR=1"}, false},
		{device, []string{"TERM=dumb"}, false},
		{&buffer{}, nil, false},
	} {
		p := &program{Streams: Streams{Env: c.env}}
		if s := p.style(c.w); s.colour != c.want || (s.bad("x") != "x") != c.want {
			t.Errorf("%+v: %+v", c, s)
		}
	}
	s := style{colour: true}
	for text, code := range map[string]string{"up": "32", "down": "31", "pending": "33"} {
		if got := s.state(text); got != "\x1b["+code+"m"+text+"\x1b[0m" {
			t.Errorf("%q", got)
		}
	}
	for _, got := range []string{s.severity("error"), s.severity("warn"), s.severity("info")} {
		if !strings.HasPrefix(got, "\x1b[") {
			t.Errorf("%q", got)
		}
	}
}

func TestText(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for d, want := range map[int64]string{0: "0s", 59: "59s", 61: "1m 1s", 3600: "1h 0m", 47 * 3600: "47h 0m", 49 * 3600: "2d 1h", -5: "0s"} {
		if got := ago(now, now.Unix()-d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
	if got := ago(now, 0); got != "" {
		t.Errorf("no time: %q", got)
	}
	if got := left(now, now.Unix()+90); got != "1m 30s" {
		t.Error(got)
	}
	if got := shorten("abcdef", 4); got != "abc…" {
		t.Error(got)
	}
	if got := few([]string{"a", "b", "c", "d"}, 2); got != "a, b and 2 more" {
		t.Error(got)
	}
	if got := wrap("a bb ccc dddd\n\ne", "  ", 8); got != "  a bb\n  ccc\n  dddd\n\n  e\n" {
		t.Errorf("%q", got)
	}
	if got := short(strings.Repeat("a1", 32)); got != "a1a1a1a1a1a1" {
		t.Error(got)
	}
}

func TestVersionOfABuild(t *testing.T) {
	setting := func(pairs ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		for i := 0; i < len(pairs); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return info
	}
	module := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}
	for want, info := range map[string]*debug.BuildInfo{
		"dev": setting(), "0123456789ab": setting("vcs.revision", "0123456789abcdef"),
		"0123-dirty": setting("vcs.revision", "0123", "vcs.modified", "true"), "v1.2.3": module,
	} {
		if got := recorded(info); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if a, b := (&world{t: t}).run("version"), (&world{t: t}).run("--version"); a != b {
		t.Errorf("version says %q, --version %q", a.all(), b.all())
	}
	if r := (&world{t: t}).run("version"); r.code != 0 || !strings.HasPrefix(r.out, "fairlead "+buildVersion()+" (go1.") {
		t.Error(r.out)
	}
}

func TestHiddenWorkload(t *testing.T) {
	w := &world{t: t}
	if r := w.run("whoami", "-no-such-flag"); r.code != 3 {
		t.Errorf("exit %d", r.code)
	}
	if r := w.run("help"); strings.Contains(r.out, "whoami") {
		t.Error("whoami is not hidden")
	}
}
