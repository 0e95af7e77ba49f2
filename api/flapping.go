package api

import (
	"time"

	"fairlead/router/route"
)

// Flapping is a state that changes between serving and failing again and again.
type Flapping struct {
	Changes int `json:"changes"` // in the ten minutes up to the last one
	// AtLeast is set when there may have been more than the history holds.
	AtLeast bool  `json:"at_least"`
	Since   int64 `json:"since"` // the first of them
	Until   int64 `json:"until"` // when it is over, unless there is another change
}

// At reports whether it flaps at a time. It works on nil.
func (f *Flapping) At(now time.Time) bool { return f != nil && now.Unix() < f.Until }

// Words say how often it changed.
func (f *Flapping) Words() string {
	of := route.Flapping{Changes: f.Changes, AtLeast: f.AtLeast}
	return of.Words()
}

func newFlapping(f *route.Flapping) *Flapping {
	if f == nil {
		return nil
	}
	return &Flapping{Changes: f.Changes, AtLeast: f.AtLeast, Since: epochOrZero(f.Since), Until: epochOrZero(f.Until)}
}
