package proxy

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// TestRapidReset: a client that takes back what it asks, as fast as it can, loses its
// connection; the limit of streams does not bound it.
func TestRapidReset(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveHTTP(t, func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })})
	r.start()
	f, block := rawH2(t, r)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if _, err := f.ReadFrame(); err != nil {
				return
			}
		}
	}()
	entry := &r.entries[0]
	head := func() []byte {
		return block(":method", "GET", ":scheme", "http", ":path", "/", ":authority", "app.test")
	}
	for id := uint32(1); id < 20*resetsMost; id += 2 {
		if f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head(), EndHeaders: true, EndStream: true}) != nil {
			break
		}
		if f.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			break
		}
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the connection is still open")
	}
	eventually(t, "nothing is in flight", func() bool { return entry.Cell.InFlight.Load() == 0 })
}

// TestClientsThatGiveUpKeepTheirConnection: those whose own timeout ended, a few, and many
// among more that were answered.
func TestClientsThatGiveUpKeepTheirConnection(t *testing.T) {
	for name, tt := range map[string]struct {
		n      int
		after  time.Duration // of a request
		every  time.Duration
		others int // requests that are answered, for each
		abused bool
	}{
		"at once":                {n: resetsMost + 1, abused: true},
		"not too many":           {n: resetsMost},
		"timeouts":               {n: 10 * resetsMost, after: resetsHaste},
		"spread over time":       {n: 10 * resetsMost, every: 2 * resetsWindow / resetsMost},
		"most are answered":      {n: 3 * resetsMost, others: 1},
		"no connection is known": {},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, abused := &clientConn{}, false
			if tt.n == 0 {
				var none *clientConn
				none.endWriting()
				abused = none.ran(time.Now(), true)
			}
			for range tt.n {
				for range tt.others {
					abused = c.ran(time.Now(), false) || abused
				}
				began := time.Now()
				<-time.After(tt.after)
				abused = c.ran(began, true) || abused
				<-time.After(tt.every)
			}
			if abused != tt.abused {
				t.Errorf("%s: abused %v", name, abused)
			}
		})
	}
}
