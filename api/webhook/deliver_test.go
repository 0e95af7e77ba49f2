package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// TestPauses: a notice that is not taken is sent again, the same one each time, with
// pauses that double and of which half is drawn; after six attempts it is given up and
// the next one has its turn.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: func(n int, _ *http.Request) (*http.Response, error) {
			switch {
			case n > maxAttempts:
				return nil, nil
			case n%2 == 0:
				return status(503), nil
			}
			return nil, errors.New("connection refused")
		}}
		p := start(t, r, nil)
		p.Transition(transition("up", "down"))
		p.Transition(transition("down", "up"))
		<-time.After(2 * time.Minute)
		calls := r.seen()
		if len(calls) != maxAttempts+1 {
			t.Fatalf("%d attempts", len(calls))
		}
		for i := 1; i < maxAttempts; i++ {
			full := firstPause << (i - 1)
			if d := calls[i].at.Sub(calls[i-1].at); d < full/2 || d > full {
				t.Errorf("pause %d is %s, want %s to %s", i, d, full/2, full)
			}
			if string(calls[i].body) != string(calls[0].body) || calls[i].header.Get(HeaderDelivery) != calls[0].header.Get(HeaderDelivery) {
				t.Errorf("attempt %d is another notice", i+1)
			}
			if calls[i].header.Get(HeaderTimestamp) != strconv.FormatInt(calls[i].at.Unix(), 10) {
				t.Errorf("attempt %d has the timestamp of an earlier one", i+1)
			}
		}
		if calls[maxAttempts].header.Get(HeaderDelivery) == calls[0].header.Get(HeaderDelivery) {
			t.Error("two notices share an id")
		}
		if s := p.Stats(); s != (Stats{Sent: 1, Failed: 1, Retries: maxAttempts - 1}) {
			t.Errorf("%+v", s)
		}
		p.stop()
		if log := p.log.String(); strings.Count(log, `"warn"`) != 1 || strings.Count(log, "taken again") != 1 || strings.Contains(log, canary) {
			t.Errorf("log: %s", log)
		}
	})
}

// TestAnswers: what another attempt would meet again is not tried again; what is for now
// is, not before Retry-After and not later than a minute. Redirects are not followed.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		code     int
		header   []string
		attempts int
		least    time.Duration
	}{
		{200, nil, 1, 0},
		{202, nil, 1, 0},
		{301, []string{"Location", "http://elsewhere.example/" + canary}, 1, 0},
		{307, []string{"Location", "http://elsewhere.example/" + canary}, 1, 0},
		{308, []string{"Location", "/elsewhere"}, 1, 0},
		{400, nil, 1, 0},
		{404, nil, 1, 0},
		{408, nil, 2, 0},
		{410, nil, 1, 0},
		{425, nil, 2, 0},
		{429, []string{"Retry-After", "17"}, 2, 17 * time.Second},
		{500, nil, 2, 0},
		{503, []string{"Retry-After", "99999999"}, 2, longestPause},
		{503, []string{"Retry-After", "-5"}, 2, 0},
		{503, []string{"Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"}, 2, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &receiver{answer: func(n int, _ *http.Request) (*http.Response, error) {
				if n == 1 {
					return status(c.code, c.header...), nil
				}
				return nil, nil
			}}
			p := start(t, r, nil)
			p.Transition(transition("up", "down"))
			<-time.After(5 * time.Minute)
			p.stop()
			calls := r.seen()
			if len(calls) != c.attempts {
				t.Fatalf("%d: %d attempts", c.code, len(calls))
			}
			for _, one := range calls {
				if !strings.Contains(one.url, "hooks.example.com/") {
					t.Errorf("%d: sent to %s", c.code, one.url)
				}
			}
			if c.attempts == 2 {
				if d := calls[1].at.Sub(calls[0].at); d < max(c.least, firstPause/2) || d > max(c.least, firstPause) {
					t.Errorf("%d: again after %s", c.code, d)
				}
			}
			if ok := c.attempts == 2 || c.code < 300; ok != (p.Stats().Sent == 1) || ok == (p.Stats().Failed == 1) {
				t.Errorf("%d: %+v", c.code, p.Stats())
			}
			if strings.Contains(p.log.String(), canary) {
				t.Errorf("%d: %s", c.code, p.log.String())
			}
		})
	}
}

// TestSilentReceiver: one that never answers costs its time and no more, and what comes
// meanwhile costs nobody any: the oldest notices make room, which the log says once.
func TestSilentReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: func(n int, req *http.Request) (*http.Response, error) {
			if n > maxAttempts {
				return nil, nil
			}
			<-req.Context().Done()
			return nil, req.Context().Err()
		}}
		p := start(t, r, func(c *Config) { c.Queue, c.Timeout = 100, 3*time.Second })
		first := transition("up", "down")
		p.Transition(first)
		synctest.Wait() // it is under way
		begin := time.Now()
		for i := range 1100 {
			one := transition("up", "down")
			one.Rev = uint64(i)
			p.Transition(one)
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("the health engine waited %s", d)
		}
		if s := p.Stats(); s.Waiting != 100 || s.Dropped != 1000 {
			t.Errorf("%+v", s)
		}
		<-time.After(2 * time.Minute)
		calls := r.seen()
		if len(calls) != maxAttempts+100 {
			t.Fatalf("%d attempts", len(calls))
		}
		if d := calls[1].at.Sub(calls[0].at); d < 3*time.Second+firstPause/2 || d > 3*time.Second+firstPause {
			t.Errorf("the second attempt came after %s", d)
		}
		for i, c := range calls[maxAttempts:] {
			if !strings.Contains(string(c.body), fmt.Sprintf(`"rev":%d,"entrypoint"`, 1000+i)) {
				t.Fatalf("notice %d is %s", i, c.body)
			}
		}
		if s := p.Stats(); s != (Stats{Sent: 100, Failed: 1, Dropped: 1000, Retries: maxAttempts - 1}) {
			t.Errorf("%+v", s)
		}
		p.stop()
		if log := p.log.String(); strings.Count(log, "the queue is full") != 1 || !strings.Contains(log, "no answer within 3s") {
			t.Errorf("log: %s", log)
		}
	})
}

// TestStop: a stop ends an attempt, and a pause, at once; what waits is dropped and
// counted, and nothing is taken any more.
func TestStop(t *testing.T) {
	for name, answer := range map[string]func(int, *http.Request) (*http.Response, error){
		"in an attempt": func(_ int, req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		},
		"in a pause": func(int, *http.Request) (*http.Response, error) { return status(503), nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &receiver{answer: answer}
			p := start(t, r, nil)
			for range 5 {
				p.Transition(transition("up", "down"))
			}
			<-time.After(10 * time.Millisecond)
			begin := time.Now()
			p.stop()
			p.Transition(transition("up", "down"))
			if s := p.Stats(); time.Since(begin) != 0 || s != (Stats{Dropped: 5}) {
				t.Errorf("%s: %s, %+v", name, time.Since(begin), s)
			}
			if name == "in an attempt" && strings.Contains(p.log.String(), `"warn"`) {
				t.Errorf("the receiver is blamed for the stop: %s", p.log.String())
			}
			if len(r.seen()) != 1 || !strings.Contains(p.log.String(), `"notices":4`) {
				t.Errorf("%s: %d attempts, log %s", name, len(r.seen()), p.log.String())
			}
		})
	}
}

// TestEndsWithoutWork: a Sender that never had anything to send ends, too.
func TestEndsWithoutWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := start(t, &receiver{}, nil)
		synctest.Wait()
		p.stop()
		if p.log.Len() != 0 {
			t.Errorf("log: %s", p.log.String())
		}
	})
}

// TestOverTheWire sends to a real listener: credentials of the address are used, a
// redirect is not followed, and no error shows the address.
func TestOverTheWire(t *testing.T) {
	type got struct {
		path, user, signature, want string
	}
	heard := make(chan got, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		user, _, _ := r.BasicAuth()
		heard <- got{r.URL.RequestURI(), user, r.Header.Get(HeaderSignature), Sign(canary, r.Header.Get(HeaderTimestamp), body)}
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := closed.Addr().String()
	_ = closed.Close()
	for _, c := range []struct {
		url  string
		want string // in the log; "" is none
	}{
		{"http://user:" + canary + "@" + address + "/hook?token=" + canary, ""},
		{"http://user:" + canary + "@" + address + "/moved?token=" + canary, "redirects are not followed"},
		{"http://user:" + canary + "@" + refused + "/" + canary, "connection refused"},
	} {
		var log lines
		s, err := New(Config{URL: route.Secret(c.url), Secret: canary, Log: zerolog.New(&log)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		s.Transition(transition("up", "down"))
		if c.want != "connection refused" {
			one := <-heard
			if one.user != "user" || one.signature != one.want || !strings.HasSuffix(one.path, "?token="+canary) {
				t.Errorf("%+v", one)
			}
		}
		for stats, limit := s.Stats(), time.After(10*time.Second); stats.Sent+stats.Failed == 0 && !strings.Contains(log.String(), c.want+`"`); stats = s.Stats() {
			select {
			case <-limit:
				t.Fatal("nothing came of it")
			case <-time.After(time.Millisecond):
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if text := log.String(); !strings.Contains(text, c.want) || strings.Contains(text, canary) || c.want == "" && text != "" {
			t.Errorf("log: %s", text)
		}
		if len(heard) > 0 {
			t.Errorf("more was sent: %+v", <-heard)
		}
	}
}
