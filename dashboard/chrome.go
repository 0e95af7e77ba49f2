package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// chrome is what stands around every page.
type chrome struct {
	Page    string // the nav item that is current
	Heading string
	Title   string
	Root    string // from the page to the mount
	Assets  string
	Theme   string // light, dark, or "" for the system's
	Path    string // of the page, below the mount, for coming back
	Level   string
	Nav     []navItem
	Banners []banner
	User    string // who logged in, "" for nobody
	Session bool   // it can be ended
	Login   string // the way to a login, "" for who needs none
	// Operates is set when the caller may give orders about backends.
	Operates bool
	Version  string
	Rev      uint64
	Census   census
	// Taken is when the page was made.
	Taken moment
}

// navItem is one link of the navigation.
type navItem struct {
	Page, Label, Key string
	Badge            string // a count that deserves a look, "" for none
	Level            string
}

// banner is something that is true on every page.
type banner struct {
	ID    string
	Level string
	Lead  string
	Since moment
	Text  string
	Next  string
	// Link and Label lead to more.
	Link, Label string
}

// census counts what the view holds.
type census struct {
	Entrypoints int
	States      map[route.EntrypointState]int
	Backends    int
	InRotation  int
	Unhealthy   int
	Pending     int
	Leaving     int
	Ejected     int // on trial, too
	Ordered     int // draining or in maintenance
	Circuits    int // open circuit breakers
	Tripped     int // those of entrypoints that are well otherwise
	Stuck       int // pending entrypoints whose probes fail
	Shadowed    int
	Flapping    int // those that are well at the moment
	Errors      int // diagnostics
	Warnings    int
	Infos       int
	Rejected    int
}

// Broken are the entrypoints that serve nothing, or only what is not verified.
func (c census) Broken() int { return c.States[route.EntrypointDown] + c.States[route.EntrypointPanic] }

// Degraded are those that do not serve as they should.
func (c census) Degraded() int {
	return c.Broken() + c.States[route.EntrypointPartial] + c.Tripped + c.Stuck + c.Flapping
}

// Down, Panic and Partial are there for templates.
func (c census) Down() int    { return c.States[route.EntrypointDown] }
func (c census) Panic() int   { return c.States[route.EntrypointPanic] }
func (c census) Partial() int { return c.States[route.EntrypointPartial] }

// Diagnostics are the errors and warnings.
func (c census) Diagnostics() int { return c.Errors + c.Warnings }

func (q *request) chrome(page, heading string) chrome {
	c := chrome{
		Page: page, Heading: heading, Root: q.root, Assets: q.root + q.d.assets.path(), Theme: themeOf(q.http),
		Version: q.d.cfg.Version, Rev: q.view.Generation, Banners: q.banners(), Taken: momentOf(q.now, q.now),
		Census: q.census(),
	}
	c.Path = pathBelow(q.http)
	if me, session := api.Who(q.http); me.Name != api.Anonymous {
		c.User, c.Session = me.Name, session
	} else if q.d.cfg.Logins {
		c.Login = q.root + "../login?next=" + url.QueryEscape(mount+c.Path)
	}
	c.Operates = q.mayOperate()
	c.Level = c.Census.level(c.Banners)
	c.Title = heading + " · Fairlead"
	if n := c.Census.Broken() + len(c.Banners); n > 0 {
		c.Title = "(" + strconv.Itoa(n) + ") " + c.Title
	}
	c.Nav = navigation(&c.Census, len(c.Banners))
	return c
}

// mount is where the admin listener has these pages; the login and the logout are beside
// it.
const mount = "/dashboard/"

// pathBelow is the page with its query, relative to the mount. What was asked to be
// resolved is left out: it may hold secrets.
func pathBelow(r *http.Request) string {
	path := r.URL.EscapedPath()
	if len(path) > 0 && path[0] == '/' {
		path = path[1:]
	}
	if r.URL.RawQuery != "" && path != pageResolve {
		path += "?" + r.URL.RawQuery
	}
	return path
}

func navigation(c *census, banners int) []navItem {
	items := []navItem{
		{Page: "", Label: "Overview", Key: "o"},
		{Page: pageEntrypoints, Label: "Entrypoints", Key: "e"},
		{Page: pageHealth, Label: "Health", Key: "h"},
		{Page: pageDiagnostics, Label: "Diagnostics", Key: "d"},
		{Page: pageResolve, Label: "Resolve", Key: "r"},
		{Page: pageProviders, Label: "Providers", Key: "p"},
		{Page: pageAbout, Label: "About", Key: "a"},
	}
	badge := func(page string, n int, level string) {
		for i := range items {
			if items[i].Page == page && n > 0 {
				items[i].Badge, items[i].Level = grouped(n), level
			}
		}
	}
	badge(pageEntrypoints, c.States[route.EntrypointPartial]+c.Stuck+c.Flapping, levelWatch)
	if c.Broken()+c.Circuits > 0 {
		badge(pageEntrypoints, c.Degraded(), levelAlarm)
	}
	badge(pageHealth, c.Unhealthy, levelAlarm)
	badge(pageDiagnostics, c.Warnings, levelWatch)
	if c.Errors > 0 {
		badge(pageDiagnostics, c.Diagnostics(), levelAlarm)
	}
	badge(pageProviders, banners, levelAlarm)
	return items
}

// level is how loud the frame of the page is.
func (c *census) level(banners []banner) string {
	level := levelCalm
	if c.Degraded() > 0 {
		level = levelWatch
	}
	for i := range banners {
		if banners[i].Level == levelAlarm {
			return levelAlarm
		}
		level = levelWatch
	}
	if c.Broken()+c.Circuits > 0 {
		return levelAlarm
	}
	return level
}

func (q *request) census() census {
	v := q.view
	c := census{Entrypoints: len(v.Entrypoints), States: map[route.EntrypointState]int{}, Rejected: len(v.Rejected)}
	for i := range v.Entrypoints {
		c.add(&v.Entrypoints[i], q.now)
	}
	for _, d := range v.Global {
		c.diagnostic(d.Severity)
	}
	said := map[route.Diagnostic]bool{}
	for i := range v.Candidates {
		for _, d := range v.Candidates[i].Diagnostics {
			said[d] = true
			c.diagnostic(d.Severity)
		}
	}
	for i := range v.Entrypoints {
		for _, d := range v.Entrypoints[i].Diagnostics {
			if !said[d] {
				c.diagnostic(d.Severity)
			}
		}
	}
	return c
}

func (c *census) add(e *router.EntrypointView, now time.Time) {
	state, _, _ := verdictOf(e)
	c.States[state]++
	if isTripped(e) {
		c.Circuits++
		if state != route.EntrypointPanic && state != route.EntrypointPartial {
			c.Tripped++
		}
	}
	if isStuck(e) {
		c.Stuck++
	}
	h := &e.Health
	c.Backends += h.Total
	c.InRotation += h.InRotation
	c.Unhealthy += h.Unhealthy
	c.Pending += h.Pending
	if e.ShadowedBy != "" {
		c.Shadowed++
	}
	if rank, ok := problemRank(e, now); ok && rank == rankFlapping {
		c.Flapping++
	}
	for i := range h.Backends {
		switch h.Backends[i].State {
		case route.StateLeaving:
			c.Leaving++
		case route.StateEjected, route.StateTrial:
			c.Ejected++
		case route.StateDraining, route.StateMaintenance:
			c.Ordered++
		default:
		}
	}
}

func (c *census) diagnostic(s route.Severity) {
	switch severityRank(s) {
	case 0:
		c.Errors++
	case 1:
		c.Warnings++
	default:
		c.Infos++
	}
}

// banners say what holds for the whole router: sources that are gone, and faults of its
// own.
func (q *request) banners() []banner {
	var list []banner
	for i := range q.view.Providers {
		p := &q.view.Providers[i]
		if b, ok := q.providerBanner(p); ok {
			list = append(list, b)
		}
	}
	if q.view.Health == nil {
		return list
	}
	for _, d := range q.view.Health.Global {
		list = append(list, banner{
			ID: d.Code, Level: levelAlarm, Lead: "The router itself is short of something", Text: d.Message + ".", Next: d.Hint,
			Link: pageDiagnostics, Label: "Diagnostics",
		})
	}
	return list
}

func (q *request) providerBanner(p *route.ProviderStatus) (banner, bool) {
	b := banner{ID: "provider-" + p.Name, Level: levelAlarm, Since: momentOf(p.Since, q.now), Next: p.Hint, Link: pageProviders, Label: "Providers"}
	since, stale := p.Stale()
	switch {
	case !p.Enabled || p.Phase == route.PhasePending || p.Phase == "":
		return b, false
	case p.Phase == route.PhaseFailed:
		b.Lead = p.Name + " could not be read yet"
		b.Text = "Nothing of it is routed until it answers; what other providers gave is served."
	case stale && p.Connected:
		b.Lead, b.Since = p.Name+" is stale", momentOf(since, q.now)
		b.Text = "What it holds now is not used: entrypoints and backends are as they were last read" + q.lastRead(p) + "."
	case stale || !p.Connected:
		b.Lead = p.Name + " is not connected"
		b.Text = "The table is frozen: entrypoints and backends are as they were last read" + q.lastRead(p) +
			". Traffic and probes go on; containers that start, stop or change meanwhile are not seen."
	default:
		return b, false
	}
	if p.LastError != "" {
		b.Text += " Last error: " + strings.TrimSuffix(p.LastError, ".") + "."
	}
	if b.Next == "" {
		b.Next = "See whether the engine runs and whether the router may reach it; the router goes on trying by itself."
	}
	return b, true
}

func (q *request) lastRead(p *route.ProviderStatus) string {
	if p.LastSync.IsZero() {
		return ""
	}
	return ", at " + momentOf(p.LastSync, q.now).Full
}
