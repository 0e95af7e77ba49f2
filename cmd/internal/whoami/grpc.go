package whoami

import (
	"encoding/binary"
	"io"
	"net/http"
)

// Answers of grpc.health.v1 (its ServingStatus).
const (
	grpcServing    = 1
	grpcNotServing = 2
)

// grpcHealth answers grpc.health.v1.Health/Check for the server as a whole: SERVING or
// NOT_SERVING, as /health says 200 or 503. Any service but "" and "whoami" is unknown
// to it (grpc-status 5).
func (s *server) grpcHealth(w http.ResponseWriter, r *http.Request) {
	const limit = 1 << 10
	message, err := io.ReadAll(io.LimitReader(r.Body, limit))
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	if err != nil || len(message) < 5 {
		w.Header().Set("Grpc-Status", "3")
		return
	}
	if service := askedService(message[5:]); service != "" && service != "whoami" {
		w.Header().Set("Grpc-Status", "5")
		return
	}
	status := byte(grpcServing)
	if s.illness.Ill() {
		status = grpcNotServing
	}
	answer := []byte{0x08, status} // field 1, a number
	frame := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer)))
	_, _ = w.Write(append(frame, answer...))
	w.Header().Set("Grpc-Status", "0")
}

// askedService is the service of a HealthCheckRequest: field 1, a short text.
func askedService(message []byte) string {
	if len(message) < 2 || message[0] != 0x0a || int(message[1]) != len(message)-2 {
		return ""
	}
	return string(message[2:])
}
