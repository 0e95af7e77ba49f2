package healthcheck

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestReservation: pending and dead backends never take the whole budget.
func TestReservation(t *testing.T) {
	s := newSchedule(8, 100)
	down, dead, up := share{host: "a", down: true, unproven: true}, share{host: "a", unproven: true}, share{host: "a"}
	fill := func(h share) (n int) {
		for s.room(h) {
			s.book(h, 1)
			n++
		}
		return n
	}
	if got := [3]int{fill(down), fill(dead), fill(up)}; got != [3]int{4, 2, 2} {
		t.Errorf("down, pending and up get %v of 8", got)
	}
	for _, h := range []share{down, down, down, down, dead, dead, up, up} {
		s.book(h, -1)
	}
	if s.running != 0 || s.down != 0 || s.unproven != 0 || len(s.hosts) != 0 {
		t.Errorf("after the end: %+v", s)
	}
}

// TestOutboxOrder: notices are sent in order, by one sender at a time, and nobody
// waits for a slow one.
func TestOutboxOrder(t *testing.T) {
	var o outbox
	o.add(notice{local: "1"})
	first := o.next(false)
	o.add(notice{local: "2"})
	if got := o.next(false); got != nil {
		t.Error("two senders at once")
	}
	if second := o.next(true); len(first) != 1 || len(second) != 1 || second[0].local != "2" {
		t.Errorf("%v %v", first, second)
	}
	if o.next(true) != nil || o.sending {
		t.Error("the sender does not end")
	}
}

// TestLogContract: the line of a transition, field by field.
func TestLogContract(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		three := checked(func(c *route.Check) { c.UnhealthyThreshold, c.FastInterval = 3, time.Second })
		r.apply(r.set("http_api", backend("b1", "10.0.0.1", three), backend("b2", "10.0.0.2", three)))
		r.run()
		r.at(5 * time.Second)
		r.net.set("10.0.0.1:80", refuse)
		r.at(15 * time.Second)
		r.net.set("10.0.0.1:80", blackhole)
		r.at(40 * time.Second)
		var down []map[string]any
		for _, line := range r.logs.lines() {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			if m["level"] != "debug" && m["backend"] == "b1" {
				down = append(down, m)
			}
		}
		// zerolog's own message field and ours have one name: the last one, the text, wins.
		want := []string{
			"info backend up pending up probe  0 1 true", "warn backend down up down probe connection_refused 3 3 false",
			"info backend reason changed down down probe timeout 3 3 false",
		}
		var got []string
		for _, m := range down {
			got = append(got, fmt.Sprintf("%v %v %v %v %v %v %v %v %v", m["level"], m["message"], m["from"], m["to"], m["cause"], m["kind"], m["consecutive_fail"], m["threshold"], m["in_rotation"]))
			if m["address"] != "10.0.0.1:80" || m["container"] != "b1-name" || m["route"] != "http_api" || m["rev"] == nil {
				t.Errorf("%v", m)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("lines\n%q, want\n%q", got, want)
		}
	})
}

// TestSecrets: values of headers and queries are in nothing that leaves the engine,
// whatever the backend does with them.
func TestSecrets(t *testing.T) {
	const canary = "CANARY7f3a"
	echo := func(context.Context) (net.Conn, error) {
		client, end := net.Pipe()
		go func() {
			defer end.Close()
			buf := make([]byte, 4096)
			n, _ := end.Read(buf)
			_, _ = end.Write(buf[:n]) // sends the request back
		}()
		return client, nil
	}
	reflect := func(context.Context) (net.Conn, error) {
		client, end := net.Pipe()
		var once sync.Once
		go serveOnce(end, "HTTP/1.1 302 "+canary+"\r\nLocation: /?"+canary+"\r\n\r\n"+canary, func(string) { once.Do(func() {}) })
		return client, nil
	}
	for _, meets := range []func(context.Context) (net.Conn, error){echo, reflect, refuse, blackhole, answer(ok200), answer("SSH-" + canary + "\r\n")} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			r.net.set("10.0.0.1:80", meets)
			r.apply(r.set("http_api", backend("b1", "10.0.0.1", checked(func(c *route.Check) {
				c.Type, c.Scheme, c.Path = route.ProbeHTTP, route.SchemeHTTP, "/health?token="+canary+"&"+canary
				c.Status, _ = route.ParseStatusSet("200")
				c.Headers = []route.CheckHeader{{Name: "Authorization", Value: canary}}
			}))))
			r.run()
			r.at(25 * time.Second)
			v := r.engine.View()
			for id, e := range v.Entrypoints {
				for i := range e.Backends {
					e.Backends[i].Backend.Check = nil // the declared check is the API's to redact
				}
				v.Entrypoints[id] = e
			}
			for what, text := range map[string]string{
				"view": fmt.Sprintf("%+v", v), "json": mustJSON(t, v), "log": strings.Join(r.logs.lines(), "\n"),
				"transitions": fmt.Sprintf("%#v", r.seen.all),
			} {
				if i := strings.Index(text, canary); i >= 0 {
					t.Errorf("the %s shows it: %s", what, text[max(0, i-80):i+20])
				}
			}
		})
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
