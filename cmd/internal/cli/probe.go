package cli

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"fairlead/router"
)

// probe is one attempt to reach a backend from this machine.
type probe struct {
	Address   string  `json:"address"`
	OK        bool    `json:"ok"`
	Message   string  `json:"message"`
	ConnectMS float64 `json:"connect_ms"`
}

const probeTimeout = 3 * time.Second

// probeAll connects to the backends that would be picked, and sends them nothing.
func probeAll(ctx context.Context, rotation []router.ResolvedBackend) []probe {
	probes := []probe{}
	for i := range rotation {
		if rotation[i].WouldPick {
			probes = append(probes, probeOne(ctx, rotation[i].Address))
		}
	}
	return probes
}

func probeOne(ctx context.Context, address string) probe {
	start := time.Now()
	conn, err := (&net.Dialer{Timeout: probeTimeout}).DialContext(ctx, "tcp", address)
	out := probe{Address: address, ConnectMS: float64(time.Since(start).Microseconds()) / 1000}
	if err != nil {
		out.Message = dialMessage(err)
		return out
	}
	_ = conn.Close()
	out.OK, out.Message = true, "accepts connections"
	return out
}

func dialMessage(err error) string {
	var timeout net.Error
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: nothing listens there, or only on another address of the container"
	case errors.As(err, &dns):
		return "the name is not known here"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in " + probeTimeout.String() + ": a firewall, or a network that this machine is not on"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no way to that address from this machine"
	}
	return err.Error()
}
