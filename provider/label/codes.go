package label

import (
	"slices"
	"strings"

	"fairlead/router/route"
)

// Explanation says what a diagnostic code means: what brings it about, what it
// costs, how to get rid of it, and labels that show it.
type Explanation struct {
	Code     string         `json:"code"`
	Severity route.Severity `json:"severity"`
	Title    string         `json:"title"`
	Cause    string         `json:"cause"`
	Effect   string         `json:"effect"`
	Fix      string         `json:"fix"`
	// Example shows the mistake and, behind an arrow, the correction.
	Example string `json:"example"`
}

func explain(code, title, cause, effect, fix, example string) Explanation {
	return Explanation{Code: code, Title: title, Cause: cause, Effect: effect, Fix: fix, Example: example}
}

// explanations is the one table of codes, sorted; it is never modified.
var explanations = sortedExplanations(errorCodes, ownErrorCodes, warningCodes, ownWarningCodes, infoCodes)

func sortedExplanations(tables ...[]Explanation) []Explanation {
	all := slices.Concat(tables...)
	for i := range all {
		all[i].Severity = route.SeverityOf(all[i].Code)
	}
	slices.SortFunc(all, func(a, b Explanation) int { return strings.Compare(a.Code, b.Code) })
	return all
}

// Explain returns the explanation of a code in any case, and whether there is one.
func Explain(code string) (Explanation, bool) {
	code = strings.ToUpper(strings.TrimSpace(code))
	i, ok := slices.BinarySearchFunc(explanations, code, func(e Explanation, c string) int { return strings.Compare(e.Code, c) })
	if !ok {
		return Explanation{}, false
	}
	return explanations[i], true
}

// Explanations returns all codes, sorted. The caller may change the result.
func Explanations() []Explanation { return slices.Clone(explanations) }
