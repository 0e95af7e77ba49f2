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
	var list []json.RawMessage
	if json.Unmarshal(text, &state) != nil || json.Unmarshal(state.Claims, &list) != nil || len(list) == 0 {
		return
	}
	claims := make(label.Claims, len(list))
	for _, one := range list {
		var c keptClaim
		if json.Unmarshal(one, &c) != nil || c.Service == "" || c.Owner == "" || c.Match == "" || c.Since.IsZero() {
			continue
		}
		claims[label.ClaimKey{
			Protocol: route.Protocol(c.Protocol), Service: c.Service,
			Owner: c.Owner, ComposeService: c.ComposeService, Match: c.Match,
		}] = c.Since
	}
	h.now.Store(&claims)
}

// longestClaim and mostOfClaims bound what the claims add to the file, which is written
// whenever an order changes and must not outgrow what is read: their names are labels, and
// whoever makes a container chooses those. In bytes: of all names, and of the JSON.
const (
	longestClaim = 1 << 10
	mostOfClaims = 4 << 20
)

// kept are the claims as the file has them, the oldest first; what is beyond the bounds is
// left out.
func (h *heldClaims) kept() json.RawMessage {
	claims := h.Claims()
	list := make([]keptClaim, 0, len(claims))
	for k, since := range claims {
		if len(k.Protocol)+len(k.Service)+len(k.Owner)+len(k.ComposeService)+len(k.Match) > longestClaim {
			continue
		}
		list = append(list, keptClaim{
			Protocol: string(k.Protocol), Service: k.Service,
			Owner: k.Owner, ComposeService: k.ComposeService, Match: k.Match, Since: since.UTC().Round(0),
		})
	}
	slices.SortFunc(list, func(a, b keptClaim) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.ComposeService, b.ComposeService),
			cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Match, b.Match))
	})
	var out []byte
	for i := range list {
		text, err := json.Marshal(&list[i])
		if err != nil || len(out)+len(text) > mostOfClaims {
			break
		}
		out = append(append(out, ','), text...)
	}
	if out == nil {
		return nil
	}
	out[0] = '['
	return append(out, ']')
}
