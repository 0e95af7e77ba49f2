package cli

import "net/netip"

// asking is a request for one path of one host, with every header and parameter.
type asking struct{ method, host, path string }

func (a *asking) Method() string                   { return a.method }
func (a *asking) Host() string                     { return a.host }
func (a *asking) MatchPath() string                { return a.path }
func (*asking) HasHeader(_, _ string, _ bool) bool { return true }
func (*asking) HasQuery(_, _ string, _ bool) bool  { return true }
func (*asking) ClientAddr() netip.Addr             { return netip.Addr{} }
