package enginetest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// client speaks to an endpoint of ServeUnix or ServeTCP.
func client(t *testing.T, endpoint string) func(path string) (int, string) {
	t.Helper()
	network, address, _ := strings.Cut(endpoint, "://")
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return func(path string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://engine"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = resp.Body.Close() }()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
}

// follow reads the event stream and returns a function for its next line, "" at its end.
func follow(t *testing.T, endpoint, query string) func() string {
	t.Helper()
	network, address, _ := strings.Cut(endpoint, "://")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = fmt.Fprintf(conn, "GET /v1.41/events?%s HTTP/1.1\r\nHost: engine\r\n\r\n", query)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(resp.Body)
	return func() string {
		if !lines.Scan() {
			return ""
		}
		var m struct {
			Type, Action, Status string
			Actor                struct{ Attributes map[string]string }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			return lines.Text()
		}
		return m.Type + " " + m.Action
	}
}

const bothTypes = `filters=%7B%22type%22%3A%7B%22container%22%3Atrue%2C%22network%22%3Atrue%7D%7D`

func TestEventsComeInTheOrderOfTheEngine(t *testing.T) {
	for style, want := range map[Style]string{
		Docker20: "network connect|container start|container kill|container die|network disconnect|network disconnect|container stop|container destroy",
		Docker29: "network connect|container start|container kill|network disconnect|container stop|container die|container destroy",
	} {
		e := New(style)
		next := follow(t, e.ServeUnix(t), bothTypes)
		id := e.Create(Container{Name: "app"})
		e.Start(id)
		e.Stop(id)
		e.Remove(id)
		next() // create
		var got []string
		for range strings.Count(want, "|") + 1 {
			got = append(got, next())
		}
		if strings.Join(got, "|") != want {
			t.Errorf("style %d: %s", style, strings.Join(got, "|"))
		}
	}
}

func TestActionsAndAnswers(t *testing.T) {
	e := New(Docker20)
	get := client(t, e.ServeTCP(t))
	e.AddNetwork(Network{Name: "six", Subnet6: netip.MustParsePrefix("fd00:5::/64")})
	seconds := 3
	id := e.Run(Container{
		Name: "app", Networks: []string{"six"}, IPv6Only: true, Health: "healthy", StopTimeout: &seconds,
		Expose: []string{"80/tcp"}, Publish: []string{"8080/tcp"}, Labels: map[string]string{"a": "b"},
	})
	if got := e.Address("app", "six"); got != "fd00:5::2" {
		t.Errorf("address %s", got)
	}
	e.Edit(id, func(c *Container) { c.IPv6Only = false })
	e.Connect(id, "bridge")
	if got := e.Address(id[:12], "bridge"); got != "172.17.0.2" {
		t.Errorf("second address %s", got)
	}
	e.Disconnect(id, "six")
	e.Pause(id)
	if c, _ := e.Container("app"); c.Status != "paused" {
		t.Errorf("paused: %+v", c)
	}
	_, list := get("/containers/json?all=1")
	e.Unpause(id)
	e.Rename(id, "app2")
	e.SetHealth(id, "starting")
	e.SetHealth(id, "unhealthy")
	e.Probe(id)
	_, running := get("/containers/json")
	_, inspect := get("/v1.41/containers/" + id + "/json")
	e.Crash(id)
	e.Start(id)
	e.Restart(id)
	e.Kill(id)
	_, exited := get("/containers/json?all=1")
	e.Create(Container{Name: "idle"})
	_, created := get("/containers/json?all=1")
	e.Run(Container{Name: "hosted", NetworkMode: "host"})
	e.Run(Container{Name: "joined", NetworkMode: "container:" + id})
	_, networks := get("/networks")
	for text, want := range map[string]string{
		list: `"Status":"Up 2 seconds (Paused)"`, running: `Up 2 seconds (unhealthy)`, inspect: `"StopTimeout":3`,
		exited: `Exited (137)`, created: `"Status":"Created"`, networks: `"Gateway":"172.17.0.1"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
	e.Remove(id)
	if _, there := e.Container(id); there || e.Address(id, "bridge") != "" {
		t.Error("a removed container is still there")
	}
	if status, _ := get("/containers/" + id + "/json"); status != http.StatusNotFound {
		t.Errorf("inspect of a removed one: %d", status)
	}
	if status, _ := get("/images/json"); status != http.StatusNotFound {
		t.Errorf("unknown endpoint: %d", status)
	}
	if e.Requests(Inspect) != 2 || e.Requests(List) != 4 {
		t.Errorf("counted %d inspects, %d lists", e.Requests(Inspect), e.Requests(List))
	}
}

func TestFaults(t *testing.T) {
	e := New(Docker29)
	endpoint := e.ServeUnix(t)
	get := client(t, endpoint)
	id := e.Run(Container{Name: "app"})
	check := func(path string, status int, text string) {
		t.Helper()
		if got, body := get(path); got != status || !strings.Contains(body, text) {
			t.Errorf("%s: %d %s, want %d with %q", path, got, body, status, text)
		}
	}
	check("/v1.99/version", 400, "client version 1.99 is too new. Maximum supported API version is 1.55")
	check("/v1.20/version", 400, "client version 1.20 is too old. Minimum supported API version is 1.40")
	check("/v1.41/version", 200, "29.7.2")
	check("/info", 200, "SystemTime")
	check("/_ping", 200, "")
	e.HideVersion()
	check("/_ping", 200, "")
	e.Deny(Networks)
	check("/networks", 403, "Forbidden")
	e.Fail(List, 404, 502)
	check("/containers/json", 404, "")
	check("/containers/json", 502, "")
	e.LieAboutList(1)
	check("/containers/json", 200, "[]")
	check("/containers/json", 200, id)
	e.HideAddress(id, 1)
	check("/containers/app/json", 200, `"IPAddress":""`)
	check("/containers/app/json", 200, `"IPAddress":"172.17.0.2"`)
	e.Delay(Version, time.Millisecond)
	check("/version", 200, "")
	e.SetAPI("1.50", "1.51")
	check("/v1.41/version", 400, "1.50")
	e.SetAPI("1.40", "1.55")

	next := follow(t, endpoint, bothTypes)
	e.Suppress("pause", true)
	e.Pause(id)
	e.Unpause(id)
	if got := next(); got != "container unpause" {
		t.Errorf("a suppressed event came: %s", got)
	}
	e.Stall(true)
	e.Rename(id, "x")
	e.Stall(false)
	e.Rename(id, "y")
	if got := next(); got != "container rename" || e.Subscribers() != 1 {
		t.Errorf("after the stall: %s, %d subscribers", got, e.Subscribers())
	}
	e.Cut(false)
	if got := next(); got != "" {
		t.Errorf("after the cut: %s", got)
	}
	e.CutEvery(time.Millisecond)
	if got := follow(t, endpoint, bothTypes)(); got != "" {
		t.Errorf("a stream that is cut at once sent %s", got)
	}
	e.CutEvery(0)
	e.Down()
	if status, _ := get("/_ping"); status != 0 {
		t.Errorf("an engine that is down answered %d", status)
	}
	e.Up(t)
	check("/_ping", 200, "")
}

func TestStreamStartsInThePast(t *testing.T) {
	e := New(Docker20)
	endpoint := e.ServeUnix(t)
	began := time.Now()
	e.Emit(Event{Type: "container", Action: "old", At: began.Add(-time.Hour)})
	e.Emit(Event{Type: "container", Action: "new"})
	e.Emit(Event{Type: "image", Action: "tag"})
	since := "since=" + url.QueryEscape(fmt.Sprintf("%d.%09d", began.Unix(), began.Nanosecond()))
	next := follow(t, endpoint, since+"&filters="+url.QueryEscape(`{"type":["container"]}`))
	e.Emit(Event{Type: "container", Action: "live"})
	if a, b := next(), next(); a != "container new" || b != "container live" {
		t.Errorf("got %q, %q", a, b)
	}
	if e.Dropped() != 0 {
		t.Error("events were dropped")
	}
}

func TestSlowReaderLoses(t *testing.T) {
	e := New(Docker20)
	s := e.subscribe(nil, nil, time.Time{})
	for range streamBuffer + 2 {
		e.Emit(Event{Type: "container", Action: "x"})
	}
	if e.Dropped() != 2 {
		t.Errorf("dropped %d", e.Dropped())
	}
	e.unsubscribe(s)
}

func TestRecordings(t *testing.T) {
	e, err := LoadRecording(os.DirFS("../testdata/engine/docker-29.7-api1.55"), Docker29)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := e.ServeUnix(t)
	get := client(t, endpoint)
	for path, want := range map[string]string{
		"/v1.51/version": "29.7.2", "/v1.51/containers/json": "/plain", "/v1.51/networks": "inner",
	} {
		if _, body := get(path); !strings.Contains(body, want) {
			t.Errorf("%s lacks %s", path, want)
		}
	}
	id := idOf(e.recorded.named["paused"])
	e.Show("paused")
	if _, body := get("/containers/" + id + "/json"); !strings.Contains(body, `"Status":"paused"`) {
		t.Error("the recorded pause is not shown")
	}
	if status, _ := get("/containers/nosuch/json"); status != http.StatusNotFound {
		t.Errorf("a missing one answered %d", status)
	}
	next := follow(t, endpoint, bothTypes)
	e.Play()
	if got := next(); got != "container create" {
		t.Errorf("played %s", got)
	}
	if _, err := LoadRecording(os.DirFS(t.TempDir()), Docker20); err == nil {
		t.Error("an empty folder was taken for a recording")
	}
}
