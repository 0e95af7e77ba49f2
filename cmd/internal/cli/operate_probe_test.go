package cli

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"

	"fairlead/api"
	"fairlead/router/route"
)

// TestProbeThroughTheRouter: what the running router saw, and the exit code of the check.
func TestProbeThroughTheRouter(t *testing.T) {
	w, p := orderWorld(t, api.RoleAdmin, "3f2a9c0d1b7e")
	run := func(counted bool) result {
		t.Helper()
		var out, errOut buffer
		prog := &program{Streams: Streams{Out: &out, Err: &errOut, Env: w.env}, counted: counted}
		if err := prog.probeNow(t.Context(), "http_api", "shop-api-1"); err != nil {
			refused, ok := errors.AsType[*failure](err)
			if !ok {
				t.Fatal(err)
			}
			return result{refused.code, "", err.Error()}
		}
		return result{prog.exit, out.String(), errOut.String()}
	}
	if r := run(false); r.code != exitRefused || !strings.Contains(r.err, "starting") {
		t.Errorf("before the start: %d %s", r.code, r.all())
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := net.SplitHostPort(l.Addr().String())
	port, _ := strconv.ParseUint(text, 10, 16)
	check := route.DefaultCheck()
	b := p.set.Placements[0].Backend
	b.Host, b.Port, b.Loopback, b.Check = "127.0.0.1", uint16(port), true, &check
	p.set.Placements = []*route.Placement{{Entrypoint: "http_api", Backend: b, Load: &route.Load{}}}
	p.engine.Apply(2, []route.PlacementSet{p.set})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.engine.Run(ctx) }()
	defer func() {
		cancel()
		<-ended
	}()
	for range 10_000 {
		r := run(false)
		if r.code == exitRefused {
			continue // the engine starts
		}
		if r.code != 0 || !strings.Contains(r.out, "would pass") || !strings.Contains(r.out, "A dry run") {
			t.Errorf("%d %s", r.code, r.all())
		}
		break
	}
	if r := run(true); r.code != exitRefused || !strings.Contains(r.err, "ask again in a moment") {
		t.Errorf("twice in a second: %d %s", r.code, r.all())
	}
	_ = l.Close()
}
