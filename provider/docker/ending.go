package docker

import (
	"fmt"
	"strings"
)

// ending says how the last run of a container ended that does not run now, and how often
// its restart policy has started it again; "" for one that runs. The count is rounded
// down, so that a container that crashes for hours is not news each time.
func ending(in inspected) string {
	switch in.Status {
	case statusRestarting, statusExited, statusDead:
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
