package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/rs/zerolog"

	"fairlead/api"
	"fairlead/router/route"
)

var errEnough = errors.New("enough")

// take watches until n frames came.
func take(ctx context.Context, c *Client, since *uint64, n int) ([]Event, error) {
	var list []Event
	err := c.Watch(ctx, since, func(e Event) error {
		if list = append(list, e); len(list) == n {
			return errEnough
		}
		return nil
	})
	return list, err
}

func TestWatch(t *testing.T) {
	events := api.NewEvents()
	server := api.New(api.Config{Viewer: fixed{view(1)}, Log: zerolog.Nop(), Events: events})
	c := connect(t, Config{URL: serve(t, server.Handler())})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, id := range []string{"http_a", "http_b"} {
		events.Transition(route.Transition{At: time.Now(), Entrypoint: id, From: "up", To: "down", Cause: "probe", Kind: route.KindTimeout})
	}
	all := uint64(0)
	list, err := take(ctx, c, &all, 3)
	if !errors.Is(err, errEnough) || len(list) != 3 {
		t.Fatalf("%v %v", list, err)
	}
	if list[0].Hello == nil || list[1].Transition.Entrypoint != "http_a" || *list[2].Transition.Transition.Kind != "timeout" || list[2].Rev != list[1].Rev+1 {
		t.Errorf("%+v", list)
	}
	list, err = take(ctx, c, &list[1].Rev, 2)
	if !errors.Is(err, errEnough) || !list[0].Hello.Resumed || list[1].Transition.Entrypoint != "http_b" || !strings.Contains(string(list[1].Raw), `"http_b"`) {
		t.Errorf("resumed: %+v %v", list, err)
	}
	ahead := list[1].Rev + 1000
	if list, err = take(ctx, c, &ahead, 2); !errors.Is(err, errEnough) || list[1].Gap == nil || list[1].Gap.Lost != nil {
		t.Errorf("ahead: %+v %v", list, err)
	}
	gone, stop := context.WithCancel(ctx)
	err = c.Watch(gone, nil, func(Event) error { stop(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestWatchIsRefused(t *testing.T) {
	server := api.New(api.Config{Viewer: fixed{view(1)}, Log: zerolog.Nop()})
	c := connect(t, Config{URL: strings.Replace(serve(t, server.Handler()), "127.0.0.1", "localhost.", 1), User: "ops", Password: "c4nary"})
	c.base.Host = strings.Replace(c.base.Host, "localhost.", "127.0.0.1", 1)
	c.base.Path = "/prefix"
	err := c.Watch(t.Context(), nil, func(Event) error { return nil })
	var status *StatusError
	if !errors.As(err, &status) || status.Status != http.StatusNotFound || strings.Contains(err.Error(), "c4nary") {
		t.Errorf("%v", err)
	}
	c = connect(t, Config{URL: "http://127.0.0.1:1"})
	var away *UnreachableError
	if err := c.Watch(t.Context(), nil, func(Event) error { return nil }); !errors.As(err, &away) {
		t.Errorf("%v", err)
	}
}

// TestWatchOfAnotherVersion: unknown types and fields pass, broken frames do not.
func TestWatchOfAnotherVersion(t *testing.T) {
	var auth []string
	serveFrames := func(frames ...string) *Client {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			auth = []string{user, password}
			conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
			if err != nil {
				return
			}
			defer conn.Close()
			for _, f := range frames {
				_ = conn.WriteMessage(websocket.TextMessage, []byte(f))
			}
			_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseGoingAway, ""), time.Now().Add(time.Second))
		})
		return connect(t, Config{URL: serve(t, h), User: "ops", Password: "p"})
	}
	list, err := take(t.Context(), serveFrames(`{"type":"weather","rev":4,"x":{}}`, `{"type":"gap","rev":5,"lost":2,"new":1}`), nil, 9)
	if !errors.Is(err, ErrStopped) || len(list) != 2 || list[0].Type != "weather" || *list[1].Gap.Lost != 2 || !slices.Equal(auth, []string{"ops", "p"}) {
		t.Errorf("%+v %v %v", list, err, auth)
	}
	var status *StatusError
	for _, text := range []string{`{"type":`, `{"type":"gap","lost":"x"}`} {
		if _, err := take(t.Context(), serveFrames(text), nil, 9); !errors.As(err, &status) {
			t.Errorf("%s: %v", text, err)
		}
	}
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil); err == nil {
			conn.Close()
		}
	}))
	defer cut.Close()
	var away *UnreachableError
	if _, err := take(t.Context(), connect(t, Config{URL: cut.URL}), nil, 9); !errors.As(err, &away) || errors.Is(err, net.ErrClosed) {
		t.Errorf("cut: %v", err)
	}
}
