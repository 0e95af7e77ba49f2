package cli

import (
	"fmt"
	"time"

	"fairlead/router/route"
)

// ago says how long something has lasted, in one or two units.
func ago(now time.Time, epoch int64) string {
	if epoch <= 0 {
		return ""
	}
	d := max(now.Sub(time.Unix(epoch, 0)), 0).Truncate(time.Second)
	hours, minutes, seconds := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case hours >= 48:
		return fmt.Sprintf("%dd %dh", hours/24, hours%24)
	case hours > 0:
		return fmt.Sprintf("%dh %dm", hours, minutes)
	case minutes > 0:
		return fmt.Sprintf("%dm %ds", minutes, seconds)
	}
	return fmt.Sprintf("%ds", seconds)
}

// left says how long something still takes.
func left(now time.Time, epoch int64) string {
	return ago(time.Unix(epoch, 0), now.Unix())
}

// whyRejected is why a candidate is not routed, with the age of that where it is known.
func whyRejected(r *route.Rejected, now time.Time) string {
	if r.Since <= 0 {
		return r.Reason
	}
	return r.Reason + ", " + ago(now, r.Since) + " ago"
}
