package healthcheck

import (
	"encoding/json"
	"fmt"
)

// lifeOf lists the log lines about a backend since it was first up, without those of
// debug level: "level from>to cause msg".
func (r *rig) lifeOf(id string) []string {
	r.t.Helper()
	var out []string
	for _, text := range r.logs.lines() {
		var line struct{ Level, Backend, From, To, Cause, Message, Kind, Msg string }
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			r.t.Fatal(err)
		}
		if line.Backend != id || line.Level == "debug" || line.From == "pending" {
			continue
		}
		out = append(out, fmt.Sprintf("%q:%q %s>%s %s %s", "level", line.Level, line.From, line.To, line.Cause, line.Message))
	}
	return out
}
