package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"fairlead/router/route"
)

// canary stands in every place that must not show.
const canary = "c4nary-s3cret"

// call is one attempt as the receiver sees it.
type call struct {
	at     time.Time
	url    string
	header http.Header
	body   []byte
}

// receiver is a RoundTripper that answers with what its script says, then with 204.
type receiver struct {
	mu     sync.Mutex
	calls  []call
	answer func(n int, r *http.Request) (*http.Response, error) // n counts from 1
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.calls = append(r.calls, call{time.Now(), req.URL.String(), req.Header.Clone(), body})
	n := len(r.calls)
	r.mu.Unlock()
	if r.answer != nil {
		if res, err := r.answer(n, req); res != nil || err != nil {
			return res, err
		}
	}
	return status(204), nil
}

func (r *receiver) seen() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]call(nil), r.calls...)
}

func status(code int, header ...string) *http.Response {
	res := &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(canary))}
	for i := 0; i+1 < len(header); i += 2 {
		res.Header.Set(header[i], header[i+1])
	}
	return res
}

// post is a Sender that runs, with what it logged.
type post struct {
	*Sender
	log  bytes.Buffer
	stop func()
}

// start runs a Sender in a bubble.
func start(t *testing.T, r *receiver, change func(*Config)) *post {
	t.Helper()
	p := &post{}
	cfg := Config{
		URL: "https://user:" + canary + "@hooks.example.com/" + canary + "?token=" + canary, Secret: canary,
		Log: zerolog.New(zerolog.SyncWriter(&p.log)), Transport: r, Version: "1.2.3",
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if p.Sender, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return p
}

func transition(from, to string) route.Transition {
	return route.Transition{
		At: time.Unix(1_800_000_000, 0), Rev: 42, Entrypoint: "http_api", Backend: "0123456789ab", Address: "172.20.0.2:80", Container: "api-1",
		Layer: "active", From: from, To: to, Cause: "probe", Kind: route.KindTimeout, Message: "no answer within 2s", Fail: 3,
	}
}

func ofEntrypoint(from, to string) route.Transition {
	return route.Transition{Rev: 43, Entrypoint: "http_api", Layer: "route", From: from, To: to, Cause: "traffic", Message: "words"}
}

// TestNotice: the body fits the schema of events, names what happened, and carries a
// signature that a receiver can check.
func TestNotice(t *testing.T) {
	text, err := os.ReadFile("../testdata/schema/event.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("event.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema := compiler.MustCompile("event.schema.json")
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{}
		p := start(t, r, func(c *Config) {
			c.Explain = func(entrypoint, backend, state string) string {
				if state == "down" {
					return "why " + entrypoint + " " + backend + " is down"
				}
				return ""
			}
		})
		p.Transition(transition("up", "down"))
		p.Transition(ofEntrypoint("ok", "panic"))
		synctest.Wait()
		calls := r.seen()
		if len(calls) != 2 {
			t.Fatalf("%d notices", len(calls))
		}
		for _, c := range calls {
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(value); err != nil {
				t.Error(err)
			}
			mac := hmac.New(sha256.New, []byte(canary))
			_, _ = fmt.Fprintf(mac, "%s.%s", c.header.Get("Fairlead-Timestamp"), c.body)
			if got, want := c.header.Get("Fairlead-Signature"), "v1="+hex.EncodeToString(mac.Sum(nil)); got != want {
				t.Errorf("signature %s, want %s", got, want)
			}
			if c.header.Get("Fairlead-Timestamp") != strconv.FormatInt(c.at.Unix(), 10) || len(c.header.Get("Fairlead-Delivery")) != 16 ||
				c.header.Get("Content-Type") != "application/json" || c.header.Get("User-Agent") != "fairlead/1.2.3" {
				t.Errorf("headers %v", c.header)
			}
		}
		const want = `{"type":"transition","rev":42,"entrypoint":"http_api","backend":"0123456789ab","address":"172.20.0.2:80","container":"api-1","in_rotation":false,` +
			`"transition":{"at":1800000000,"at_ms":1800000000000,"rev":42,"layer":"active","from":"up","to":"down","cause":"probe","kind":"timeout","message":"no answer within 2s",` +
			`"actor":null,"reason":null,"counters":{"ok":0,"fail":3},"in_rotation":false},"event":"down","level":"warn",` +
			`"text":"http_api: api-1 (172.20.0.2:80) is down: no answer within 2s; it gets no requests.","explain":"why http_api 0123456789ab is down"}`
		if string(calls[0].body) != want {
			t.Errorf("%s\nwant\n%s", calls[0].body, want)
		}
		var second Notice
		if err := json.Unmarshal(calls[1].body, &second); err != nil || second.Event != EventPanicStarted || second.Explain != nil || second.Backend != nil {
			t.Errorf("%v %+v", err, second)
		}
		p.stop()
	})
}

// TestWithoutSecret: nothing is signed with an empty key.
func TestWithoutSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{}
		p := start(t, r, func(c *Config) { c.Secret = "" })
		p.Transition(transition("up", "down"))
		synctest.Wait()
		if c := r.seen(); len(c) != 1 || c[0].header["Fairlead-Signature"] != nil {
			t.Errorf("%v", c)
		}
		p.stop()
	})
}

// TestWorthANotice says which transitions are, and how a person reads them.
func TestWorthANotice(t *testing.T) {
	ordered := func(from, to string) route.Transition {
		tr := transition(from, to)
		tr.Cause, tr.Layer, tr.Actor, tr.Reason, tr.Message, tr.InRotation = "operator", "admin", "ops", "new kernel", "drained by ops", to == "up"
		return tr
	}
	still := func(from, to string) route.Transition { // the order is over, the fault is not
		tr := ordered(from, to)
		tr.Message = "no answer within 2s"
		return tr
	}
	ended := still("draining", "down")
	ended.Cause, ended.Actor, ended.Reason = "timer", "", "the drain that ops ordered was to end now"
	ended.Message, ended.InRotation = ended.Message+"; "+ended.Reason, true
	debug := transition("up", "leaving")
	debug.Debug = true
	serving := transition("up", "down")
	serving.InRotation = true
	up := transition("down", "up")
	up.InRotation, up.Message = true, "200"
	back := transition("ejected", "up")
	back.InRotation, back.Message = true, ""
	unprobed := func(from string) route.Transition {
		tr := transition(from, "unchecked")
		tr.InRotation, tr.Message = true, ""
		return tr
	}
	unchecked := ordered("maintenance", "unchecked")
	unchecked.InRotation = true
	dead := ofEntrypoint("ok", "down")
	dead.Down, dead.Message = route.ReasonAllUnhealthy, "clients get 503 (all_unhealthy): no backend is verified"
	fromPanic, again := dead, dead
	fromPanic.From, again.From = "panic", "down"
	deploy := ofEntrypoint("panic", "down")
	deploy.Down = route.ReasonLeaving
	quiet := ofEntrypoint("down", "ok")
	quiet.Debug = true
	instead := ordered("draining", "draining")
	instead.Message = "drained by ana (disk), in place of the drain that ops ordered at 10:00:00 UTC (new kernel)"
	restored := ordered("up", "draining")
	restored.Cause = "restore"
	bare := transition("up", "down")
	bare.Container = ""
	for _, c := range []struct {
		t     route.Transition
		event string
		level Level
		text  string
	}{
		{transition("up", "down"), EventDown, Warn, "http_api: api-1 (172.20.0.2:80) is down: no answer within 2s; it gets no requests."},
		{bare, EventDown, Warn, "http_api: 172.20.0.2:80 is down: no answer within 2s; it gets no requests."},
		{serving, EventDown, Warn, "http_api: api-1 (172.20.0.2:80) is down: no answer within 2s; it still gets requests, because nothing better is left."},
		{transition("up", "gated"), EventDown, Warn, "http_api: api-1 (172.20.0.2:80) is down: no answer within 2s; it gets no requests."},
		{still("draining", "down"), EventReady, Warn, "http_api: api-1 (172.20.0.2:80) is ready again by ops (new kernel), and its state is down: no answer within 2s; it gets no requests."},
		{still("maintenance", "ejected"), EventReady, Warn, "http_api: api-1 (172.20.0.2:80) is ready again by ops (new kernel), and its state is ejected: no answer within 2s; it gets no requests."},
		{still("draining", "gated"), EventReady, Warn, "http_api: api-1 (172.20.0.2:80) is ready again by ops (new kernel), and its state is gated: no answer within 2s; it gets no requests."},
		{ended, EventReady, Warn, "http_api: api-1 (172.20.0.2:80) is ready again, and its state is down: no answer within 2s; the drain that ops ordered was to end now; it still gets requests, because nothing better is left."},
		{transition("down", "down"), "", "", ""},
		{up, EventUp, Info, "http_api: api-1 (172.20.0.2:80) is up again: 200."},
		{transition("up", "ejected"), EventEjected, Warn, "http_api: api-1 (172.20.0.2:80) was ejected: no answer within 2s; it gets no requests."},
		{unprobed("gated"), EventUp, Info, "http_api: api-1 (172.20.0.2:80) is up again."},
		{unprobed("down"), EventUp, Info, "http_api: api-1 (172.20.0.2:80) is up again."},
		{unprobed("ejected"), EventReadmitted, Info, "http_api: api-1 (172.20.0.2:80) was readmitted."},
		{unprobed("trial"), EventReadmitted, Info, "http_api: api-1 (172.20.0.2:80) was readmitted."},
		{transition("ejected", "trial"), "", "", ""},
		{transition("trial", "ejected"), EventEjected, Warn, "http_api: api-1 (172.20.0.2:80) was ejected: no answer within 2s; it gets no requests."},
		{back, EventReadmitted, Info, "http_api: api-1 (172.20.0.2:80) was readmitted."},
		{ordered("up", "draining"), EventDrain, Info, "http_api: api-1 (172.20.0.2:80) is drained by ops (new kernel)."},
		{ordered("draining", "maintenance"), EventMaintenance, Info, "http_api: api-1 (172.20.0.2:80) is in maintenance by ops (new kernel)."},
		{ordered("maintenance", "up"), EventReady, Info, "http_api: api-1 (172.20.0.2:80) is ready again by ops (new kernel)."},
		{unchecked, EventReady, Info, "http_api: api-1 (172.20.0.2:80) is ready again by ops (new kernel)."},
		{ordered("maintenance", "pending"), EventReady, Info, "http_api: api-1 (172.20.0.2:80) is ready again by ops (new kernel), and its state is pending; it gets no requests."},
		{debug, "", "", ""},
		{transition("up", "leaving"), "", "", ""},
		{instead, EventDrain, Info, "http_api: api-1 (172.20.0.2:80) stays out: drained by ana (disk), in place of the drain that ops ordered at 10:00:00 UTC (new kernel)."},
		{restored, "", "", ""},
		{dead, EventEntrypointDown, Warn, "http_api is down: clients get 503 (all_unhealthy): no backend is verified."},
		{fromPanic, EventEntrypointDown, Warn, "http_api is down: clients get 503 (all_unhealthy): no backend is verified."},
		{again, EventEntrypointDown, Warn, "http_api is down: clients get 503 (all_unhealthy): no backend is verified."},
		{deploy, EventPanicEnded, Info, "http_api is out of panic: words."},
		{ofEntrypoint("down", "ok"), EventEntrypointUp, Info, "http_api is up again: words."},
		{ofEntrypoint("down", "panic"), EventPanicStarted, Warn, "http_api is in panic: words."},
		{quiet, "", "", ""},
		{ofEntrypoint("ok", "panic"), EventPanicStarted, Warn, "http_api is in panic: words."},
		{ofEntrypoint("panic", "ok"), EventPanicEnded, Info, "http_api is out of panic: words."},
		{ofEntrypoint("closed", "open"), EventBreakerOpened, Warn, "http_api is cut off from its backends by its circuit breaker: words."},
		{ofEntrypoint("half_open", "open"), EventBreakerOpened, Warn, "http_api is cut off from its backends by its circuit breaker: words."},
		{ofEntrypoint("open", "half_open"), "", "", ""},
		{ofEntrypoint("half_open", "closed"), EventBreakerClosed, Info, "http_api is served again: its circuit breaker lets requests through: words."},
	} {
		event, level := classify(&c.t)
		if event != c.event || event != "" && level != c.level {
			t.Errorf("%s > %s: %q %s, want %q %s", c.t.From, c.t.To, event, level, c.event, c.level)
			continue
		}
		if event == "" {
			continue
		}
		if got := sentence(event, &c.t); got != c.text {
			t.Errorf("%s > %s:\n%s, want\n%s", c.t.From, c.t.To, got, c.text)
		}
	}
}

// TestLevelAndStart: with the level warn the way back is not sent. That a backend comes
// up at its start is no news, unless the receiver knows it to be down.
func TestLevelAndStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both, grave := &receiver{}, &receiver{}
		p, q := start(t, both, nil), start(t, grave, func(c *Config) { c.Level = Warn })
		restarted := transition("pending", "up")
		restarted.Backend, restarted.Address = "ffffffffffff", "172.20.0.9:80" // the container's name is the same
		for _, one := range []route.Transition{
			transition("pending", "up"), transition("up", "down"), restarted, restarted, transition("up", "ejected"), transition("trial", "up"), transition("pending", "up"),
			transition("draining", "down"), restarted, transition("draining", "up"), transition("pending", "up"),
		} {
			p.Transition(one)
			q.Transition(one)
		}
		synctest.Wait()
		if got := events(t, both); got != "down up ejected readmitted ready up ready" {
			t.Errorf("info: %s", got)
		}
		if got := events(t, grave); got != "down ejected ready" {
			t.Errorf("warn: %s", got)
		}
		p.stop()
		q.stop()
	})
}

// TestTheWayBackOfEach: what was told to be bad is told to be well again, whatever it is
// called then, and what only starts is not: a container that Docker's word held back
// (dockerHealth=require), or one that is not probed.
func TestTheWayBackOfEach(t *testing.T) {
	for _, c := range []struct{ steps, want string }{
		{"gated>up", ""},
		{"gated>unchecked", ""},
		{"gated>pending pending>up", ""},
		{"pending>unchecked", ""},
		{"up>gated gated>up up>gated gated>up", "down up down up"},
		{"unchecked>gated gated>unchecked pending>unchecked", "down up"},
		{"unchecked>gated pending>unchecked", "down up"}, // it was started anew
		{"unchecked>ejected ejected>trial trial>unchecked pending>unchecked", "ejected readmitted"},
		{"unchecked>ejected ejected>unchecked", "ejected readmitted"},
		{"unchecked>ejected ejected>gated gated>unchecked", "ejected down up"},
		{"down>unchecked", "up"}, // its check was turned off
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &receiver{}
			p := start(t, r, nil)
			for _, step := range strings.Fields(c.steps) {
				from, to, _ := strings.Cut(step, ">")
				p.Transition(transition(from, to))
			}
			synctest.Wait()
			if got := events(t, r); got != c.want {
				t.Errorf("%s: told %q, want %q", c.steps, got, c.want)
			}
			p.stop()
		})
	}
}

func events(t *testing.T, r *receiver) string {
	t.Helper()
	var list []string
	for _, c := range r.seen() {
		var n Notice
		if err := json.Unmarshal(c.body, &n); err != nil {
			t.Fatal(err)
		}
		list = append(list, n.Event)
	}
	return strings.Join(list, " ")
}

// TestAddresses: what is no address is refused without being shown.
func TestAddresses(t *testing.T) {
	for _, u := range []string{"", canary, "hooks.example.com/" + canary, "ftp://" + canary, "https://", "https:///" + canary, "http://[" + canary, "https://u:" + canary + "@:443/"} {
		if _, err := New(Config{URL: route.Secret(u)}); !errors.Is(err, errURL) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", u, err)
		}
	}
}

// lines is a log that is read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
