package app

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"fairlead/provider/docker"
	"fairlead/provider/label"
	"fairlead/router/route"
)

// heldClaims are the claims of the Docker provider as a state file keeps them: without
// them the ages of containers would decide at each start of the router, and an ordinary
// recreate would have cost its project the host and the name that it held.
type heldClaims struct {
	now     atomic.Pointer[label.Claims]
	changed chan struct{} // capacity 1
}

var _ docker.Memory = (*heldClaims)(nil)

// keptClaim is one claim in the file.
type keptClaim struct {
	Protocol       string    `json:"protocol"`
	Service        string    `json:"service"`
	Owner          string    `json:"owner"`
	ComposeService string    `json:"compose_service,omitempty"`
	Match          string    `json:"match"`
	Since          time.Time `json:"since"`
}

// Claims implements docker.Memory.
func (h *heldClaims) Claims() label.Claims {
	if held := h.now.Load(); held != nil {
		return *held
	}
	return nil
}

// KeepClaims implements docker.Memory.
func (h *heldClaims) KeepClaims(claims label.Claims) {
	h.now.Store(&claims)
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// restore reads the claims of a good file. One that cannot be a claim is left out: they
// are a cache, and not worth an order that is lost with them.
func (h *heldClaims) restore(text []byte) {
	var state keptState
	if json.Unmarshal(text, &state) != nil || len(state.Claims) == 0 {
		return
	}
	claims := make(label.Claims, len(state.Claims))
	for _, c := range state.Claims {
		if c.Service == "" || c.Owner == "" || c.Match == "" || c.Since.IsZero() {
			continue
		}
		claims[label.ClaimKey{
			Protocol: route.Protocol(c.Protocol), Service: c.Service,
			Owner: c.Owner, ComposeService: c.ComposeService, Match: c.Match,
		}] = c.Since
	}
	h.now.Store(&claims)
}

// kept are the claims as the file has them, sorted.
func (h *heldClaims) kept() []keptClaim {
	claims := h.Claims()
	list := make([]keptClaim, 0, len(claims))
	for k, since := range claims {
		list = append(list, keptClaim{
			Protocol: string(k.Protocol), Service: k.Service,
			Owner: k.Owner, ComposeService: k.ComposeService, Match: k.Match, Since: since.UTC().Round(0),
		})
	}
	slices.SortFunc(list, func(a, b keptClaim) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.ComposeService, b.ComposeService),
			cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Match, b.Match))
	})
	return list
}
