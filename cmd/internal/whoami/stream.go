package whoami

import (
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// events sends one server-sent event each 200 ms until the client leaves or the
// streams have to end.
func (s *server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	rc := http.NewResponseController(w)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		if _, err := fmt.Fprintf(w, "data: %s %d\n\n", s.cfg.Name, i); err != nil || rc.Flush() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-s.stopping:
			return
		}
	}
}

// closeWait is how long a WebSocket's client may take to answer a close frame.
const closeWait = time.Second

// websocket echoes every message; it says "going away" when the streams have to end.
func (s *server) websocket(w http.ResponseWriter, r *http.Request) {
	s.sockets.Add(1)
	defer s.sockets.Done()
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := up.Upgrade(w, r, http.Header{headerName: {s.cfg.Name}, headerHost: {s.host}})
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-ended:
		case <-s.stopping:
			end := time.Now().Add(closeWait)
			_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseGoingAway, "stopping"), end)
			_ = conn.SetReadDeadline(end)
		}
	}()
	for {
		kind, message, err := conn.ReadMessage()
		if err != nil || conn.WriteMessage(kind, message) != nil {
			return
		}
	}
}
