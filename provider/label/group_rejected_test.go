package label

import (
	"slices"
	"strings"
	"testing"

	"fairlead/router/route"
)

// TestWhatIsNotRoutedIsRejected: an enabled container without a place in any entrypoint is
// listed with what keeps it out, whatever else is wrong with it; one that has a place is
// not, even where nothing reaches it, nor one that has stopped.
func TestWhatIsNotRoutedIsRejected(t *testing.T) {
	far := func(in *Input) {
		in.Endpoints[0] = Endpoint{Diagnostics: []route.Diagnostic{route.Diagnose("E105", "attach both to one network", "no network is shared")}}
	}
	noService := func(in *Input) { in.Candidate.Labels = map[string]string{"sozune.enable": "true"} }
	b := newBench(t)
	b.run("c7", "p", "none", nil, noService)
	b.run("c1", "p", "web", keys{"host": "", "auth.basci": "x"}, far)
	b.run("c2", "p", "far", keys{"sozune.http.far.host": "far.example.com", "host": ""}, far)
	b.run("c3", "p", "db", keys{"host": "", "sozune.tcp.db.entrypoint": "mysql"})
	b.run("c4", "p", "gone", nil, noService, until(epoch))
	b.run("c5", "p", "odd", nil, func(in *Input) {
		in.Candidate.Labels = map[string]string{"sozune.enable": "true", "sozune.htp.odd.host": "odd.example.com"}
	})
	b.run("c6", "p", "web", nil)
	b.run("c8", "p", "db", nil, func(in *Input) {
		in.Candidate.Labels = map[string]string{"sozune.enable": "true", "sozune.tcp.db.entrypoint": "mysql"}
	})
	out := b.group(nil)
	checkInvariants(t, b.inputs, out)
	words := map[string]string{"E002": "has no host", "E004": "no label names a service", "E110": "no tcp listener of that name"}
	var got []string
	for _, r := range out.Rejected {
		got = append(got, strings.TrimRight(r.CandidateID, "0")+" "+r.Name+" "+r.Project+"/"+r.Service+" "+r.Code)
		if r.Hint == "" || !strings.Contains(r.Reason, words[r.Code]) {
			t.Errorf("not the words of %s, or no fix: %+v", r.Code, r)
		}
	}
	want := []string{"c1 p-web-c1 p/web E002", "c3 p-db-c3 p/db E002", "c5 p-odd-c5 p/odd E004", "c7 p-none-c7 p/none E004", "c8 p-db-c8 p/db E110"}
	if !slices.Equal(got, want) {
		t.Errorf("rejected %v, want %v", got, want)
	}
}

// TestRejectedEvenWithTooMuchWrong: a code that did not fit among the findings is said.
func TestRejectedEvenWithTooMuchWrong(t *testing.T) {
	in := Input{Candidate: Candidate{ID: "c1", Name: "c1"}, Presence: Present, Parsed: Parsed{Enabled: true, Declarations: []Declaration{{Refused: "E002"}}}}
	out := Group([]Input{in}, nil)
	if len(out.Rejected) != 1 || out.Rejected[0].Code != "E002" || out.Rejected[0].Reason == "" {
		t.Errorf("%+v", out.Rejected)
	}
}
