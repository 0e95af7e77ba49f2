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
