package healthcheck

import "fairlead/router/route"

func (en *entry) panicReason() string { return en.sentence() }

func (en *entry) explain(h *route.EntrypointHealth) string { return en.sentence() }

func explain(p *placement, h *route.BackendHealth) string { return string(h.State) }

func hint(p *placement) string { return "" }
