package api

import (
	"fairlead/router"
	"fairlead/router/route"
)

// Diagnostics is the answer of GET /diagnostics.
type Diagnostics struct {
	// Total counts the diagnostics in Global, Items and Entrypoints.
	Total  int                          `json:"total"`
	Global []route.Diagnostic           `json:"global"`
	Items  []route.CandidateDiagnostics `json:"items"`
	// Entrypoints are the findings that no candidate has alone, such as two routes
	// that want the same requests.
	Entrypoints []EntrypointDiagnostics `json:"entrypoints"`
	// Rejected are the candidates that are not routed, and why.
	Rejected []route.Rejected `json:"rejected"`
}

// EntrypointDiagnostics are findings about one entrypoint.
type EntrypointDiagnostics struct {
	EntrypointID string             `json:"entrypoint_id"`
	Diagnostics  []route.Diagnostic `json:"diagnostics"`
}

func newDiagnostics(v *router.View) Diagnostics {
	out := Diagnostics{
		Total: len(v.Global), Global: list(v.Global),
		Items: list(v.Candidates), Entrypoints: []EntrypointDiagnostics{}, Rejected: list(v.Rejected),
	}
	said := map[route.Diagnostic]bool{}
	for i := range v.Candidates {
		out.Total += len(v.Candidates[i].Diagnostics)
		for _, d := range v.Candidates[i].Diagnostics {
			said[d] = true
		}
	}
	for i := range v.Entrypoints {
		var own []route.Diagnostic
		for _, d := range v.Entrypoints[i].Diagnostics {
			if !said[d] {
				own = append(own, d)
			}
		}
		if len(own) > 0 {
			out.Total += len(own)
			out.Entrypoints = append(out.Entrypoints, EntrypointDiagnostics{v.Entrypoints[i].Entrypoint.ID, own})
		}
	}
	return out
}
