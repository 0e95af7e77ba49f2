package docker

import (
	"fmt"
	"slices"
	"strings"

	"fairlead/router/route"
)

// idle reports whether the container would be routed if it ran, and nobody waits for it:
// one that is retained is an absent backend of its entrypoint.
func (r *record) idle() bool {
	switch r.info.Status {
	case statusCreated, statusExited, statusDead:
		return r.parsed.Enabled && !r.removed && r.retained.IsZero()
	}
	return false
}

// stopped lists such a container. It has no code: somebody may have stopped it on purpose.
// One that its restart policy starts again is no such container, but an absent backend.
func stopped(r *record) route.Rejected {
	out := route.Rejected{
		CandidateID: r.id, Name: r.name, Project: r.candidate.Project, Service: r.candidate.Service,
		Reason: "does not run: " + ending(r.info), Hint: "docker start " + r.name + "; docker logs " + r.name,
	}
	if r.info.Error != "" {
		out.Hint = "remove the cause, then docker start " + r.name
	}
	since := r.info.Finished
	switch r.info.Status {
	case statusCreated:
		since = r.info.Created
		if r.info.Error == "" {
			out.Reason, out.Hint = "was created and never started", "docker start "+r.name
		}
	case statusDead:
		out.Reason, out.Hint = "is dead: the engine could not remove it; it "+ending(r.info), "docker rm -f "+r.name+", and create it again"
	}
	if !since.IsZero() {
		out.Since = since.Unix()
	}
	for i := range r.parsed.Declarations {
		d := &r.parsed.Declarations[i]
		out.Entrypoints = append(out.Entrypoints, string(d.Protocol)+"_"+d.Service)
	}
	return out
}

// rejectStopped adds containers that do not run to a snapshot, with the hosts that nobody
// serves therefore.
func rejectStopped(s *route.Snapshot, idle []*record) {
	slices.SortFunc(idle, func(a, b *record) int { return strings.Compare(a.id, b.id) })
	for _, r := range idle {
		why := stopped(r)
		s.Rejected = append(s.Rejected, why)
		var hosts []route.HostPattern
		for i := range r.parsed.Declarations {
			hosts = append(hosts, r.parsed.Declarations[i].Match.Hosts...)
		}
		if len(hosts) > 0 {
			s.Unrouted = append(s.Unrouted, route.Unrouted{What: "container " + r.name, Hosts: hosts, Reason: why.Reason, Hint: why.Hint})
		}
	}
	slices.SortFunc(s.Rejected, func(a, b route.Rejected) int { return strings.Compare(a.CandidateID, b.CandidateID) })
}

// ending says how the last run of a container ended that does not run now, and how often
// its restart policy has started it again; "" for one that runs. The count is rounded
// down, so that a container that crashes for hours is not news each time.
func ending(in inspected) string {
	switch in.Status {
	case statusRestarting, statusExited, statusDead:
	case statusCreated:
		if in.Error == "" {
			return "" // it has never run
		}
	default:
		return ""
	}
	text := fmt.Sprintf("ended with exit code %d", in.ExitCode)
	if in.Error != "" {
		text = "could not be started: " + shortened(in.Error, 200)
	}
	if in.OOMKilled {
		text += " (out of memory)"
	}
	switch n := roundedDown(in.Restarts); {
	case n == 1:
		text += ", restarted once"
	case n > 1 && n == in.Restarts:
		text += fmt.Sprintf(", restarted %d times", n)
	case n > 1:
		text += fmt.Sprintf(", restarted more than %d times", n)
	}
	return text
}

// roundedDown returns the largest of 0, 1, 2, 3, 5, 10, 20, 50, 100, 200 ... that is not
// above n.
func roundedDown(n int) int {
	if n <= 3 {
		return max(n, 0)
	}
	best := 3
	for decade := 1; ; decade *= 10 {
		for _, step := range []int{1, 2, 5} {
			switch value := step * decade; {
			case value > n:
				return best
			case value > best:
				best = value
			}
		}
	}
}

func shortened(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}
