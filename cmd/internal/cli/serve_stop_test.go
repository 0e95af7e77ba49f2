package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// slowBackend answers when it is told to.
func slowBackend(t *testing.T) (address string, arrived chan struct{}, answer chan struct{}) {
	t.Helper()
	arrived, answer = make(chan struct{}, 10), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-answer:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "late")
	}))
	t.Cleanup(server.Close)
	return server.URL, arrived, answer
}

func TestStopLetsRequestsFinish(t *testing.T) {
	address, arrived, answer := slowBackend(t)
	s := serve(t, oneRoute(t, address), []string{"FAIRLEAD_SHUTDOWNDELAY=300ms"})
	got := make(chan string, 1)
	go func() {
		status, body, err := s.get("app.localhost", "/")
		got <- fmt.Sprint(status, " ", body, " ", err)
	}()
	<-arrived
	s.cancel()
	s.eventually("/ready says so before the listeners close", func() error {
		if status, body := s.ready(); status != 503 || !strings.Contains(body, "shutting_down") {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
	s.eventually("the HTTP listener closes", func() error {
		if c, err := net.Dial("tcp", s.http); err == nil {
			_ = c.Close()
			return errors.New("it still accepts")
		}
		return nil
	})
	close(answer)
	if text := <-got; text != "200 late <nil>" {
		t.Errorf("the request in flight got %s", text)
	}
	if code := <-s.done; code != 0 {
		t.Errorf("exit %d\n%s", code, s.log.String())
	}
}

func TestStopCutsWhatTakesTooLong(t *testing.T) {
	address, arrived, _ := slowBackend(t)
	s := serve(t, oneRoute(t, address), []string{"FAIRLEAD_SHUTDOWNTIMEOUT=100ms"})
	go func() { _, _, _ = s.get("app.localhost", "/") }()
	<-arrived
	if code := s.stop(); code != 1 || !strings.Contains(s.log.String(), "shutdownTimeout") {
		t.Errorf("exit %d\n%s", code, s.log.String())
	}
	if n := strings.Count(s.log.String(), "raise it together"); n != 1 {
		t.Errorf("the cause is said %d times\n%s", n, s.log.String())
	}
}
