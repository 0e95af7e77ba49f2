package whoami

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// checkTimeout is below the time that examples give to a HEALTHCHECK.
const checkTimeout = 2 * time.Second

// check asks the workload on this machine for /health and returns 0 for a 200, else 1:
// the HEALTHCHECK of an image without a shell.
func check(ctx context.Context, port int, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	status, err := health(ctx, "http://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(port))+"/health")
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "whoami: %v\n", err)
		return 1
	}
	_, _ = fmt.Fprintln(stdout, status)
	if status != http.StatusOK {
		return 1
	}
	return 0
}

func health(ctx context.Context, url string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}
