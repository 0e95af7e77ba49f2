package middleware

import (
	"fairlead/router/exchange"
	"fairlead/router/route"
)

// headers sets and deletes fields (labels headers.*). Which names are allowed is
// decided where labels are parsed.
type headers struct {
	request, response []exchange.Edit
}

func newHeaders(rules []route.HeaderRule) (*headers, bool) {
	h := &headers{}
	for _, r := range rules {
		edit := exchange.Edit{Op: exchange.Set, Name: r.Name, Value: r.Value.Reveal()}
		if edit.Value == "" {
			edit.Op = exchange.Delete
		}
		if r.Direction != route.OnResponse {
			h.request = append(h.request, edit)
		}
		if r.Direction != route.OnRequest {
			h.response = append(h.response, edit)
		}
	}
	return h, len(rules) > 0
}

// Before implements Filter.
func (h *headers) Before(x *exchange.Exchange) route.Reason {
	x.Edits = append(x.Edits, h.request...)
	x.ResponseEdits = append(x.ResponseEdits, h.response...)
	return route.ReasonNone
}
