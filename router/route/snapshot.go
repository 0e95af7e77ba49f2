package route

import "time"

// Snapshot is all that one provider knows at one moment. It replaces the
// provider's previous one as a whole.
type Snapshot struct {
	Provider    string
	Entrypoints []*Entrypoint          // sorted by ID
	Candidates  []CandidateDiagnostics // sorted by candidate id
	Rejected    []Rejected             // sorted by candidate id
	Unrouted    []Unrouted             // sorted by candidate id, those that do not run last
	Global      []Diagnostic
	Status      ProviderStatus
}

// ProviderPhase is the provider's part in /ready.
type ProviderPhase string

// Provider phases.
const (
	PhasePending ProviderPhase = "pending" // not synced yet
	PhaseReady   ProviderPhase = "ready"
	PhaseStale   ProviderPhase = "stale"  // synced once, source lost: the table is frozen
	PhaseFailed  ProviderPhase = "failed" // never synced, source not reachable
)

// ProviderStatus says how a provider is doing.
type ProviderStatus struct {
	Name       string
	Enabled    bool
	Configured bool
	Connected  bool
	// Returning is set from the moment at which a lost source can be reached again until
	// it has been read: what it gave before may be about to change all at once.
	Returning bool
	Phase     ProviderPhase
	Since     time.Time // of the current Connected value
	// StaleSince is since when the phase is stale, for sources that can be so while they
	// are connected (a file whose new text is refused); zero means Since.
	StaleSince    time.Time
	LastSync      time.Time // last complete read of the source
	EngineVersion string
	APIVersion    string
	Candidates    int // containers seen
	Ignored       int // without any label of ours, or enable=false
	Rejected      int // not routed, as Snapshot.Rejected says
	LastError     string
	Hint          string // what to do about LastError
	Notes         []string
}

// Stale reports since when what the provider gave is not what its source holds, and
// whether that is so.
func (s *ProviderStatus) Stale() (since time.Time, stale bool) {
	switch {
	case s.Phase != PhaseStale:
		return time.Time{}, false
	case !s.StaleSince.IsZero():
		return s.StaleSince, true
	}
	return s.Since, true
}
