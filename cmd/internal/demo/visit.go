package demo

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// pause is the time between two visits of one site.
const pause = 250 * time.Millisecond

// visit sends some requests to every site until ctx ends. What they bring is for the
// dashboard to show.
func visit(ctx context.Context, router string, w *world) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Second}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	defer all.Wait()
	for _, s := range w.sites {
		all.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for n := 1; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				path := "/"
				if n%20 == 0 {
					path = "/?status=404"
				}
				ask(ctx, client, router, s.name+".localhost", path)
			}
		})
	}
}

func ask(ctx context.Context, client *http.Client, router, host, path string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+router+path, nil)
	if err != nil {
		return
	}
	req.Host = host
	req.Header.Set("User-Agent", "fairlead-demo")
	res, err := client.Do(req)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
}
