package healthcheck

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxGRPCFrame is how long a gRPC message may be, its prefix included: an answer of the
// health service has a few bytes. It is below what HTTP/2 lets a server send at first.
const maxGRPCFrame = 64<<10 - 1

// grpcPrefix is the length of what stands before a message: a flag and its length.
const grpcPrefix = 5

// grpcFrame puts a message into a frame.
func grpcFrame(message []byte) []byte {
	frame := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	return append(frame, message...)
}

// grpcFrameLength is how long the frame is that begins with these bytes, as far as it is
// known: 0 while too little has come.
func grpcFrameLength(begin []byte) (int, error) {
	if len(begin) < grpcPrefix {
		return 0, nil
	}
	length := binary.BigEndian.Uint32(begin[1:])
	if length > maxGRPCFrame-grpcPrefix {
		return 0, fmt.Errorf("the gRPC message is longer than %d KiB", (maxGRPCFrame+1)>>10)
	}
	return grpcPrefix + int(length), nil
}

// grpcMessage is the message of a body that holds exactly one frame.
func grpcMessage(body []byte) ([]byte, error) {
	length, err := grpcFrameLength(body)
	switch {
	case err != nil:
		return nil, err
	case len(body) == 0:
		return nil, errors.New("the gRPC answer holds no message")
	case length == 0 || len(body) < length:
		return nil, errors.New("the gRPC message is cut off")
	case len(body) > length:
		return nil, errors.New("the gRPC answer holds more than one message")
	case body[0] != 0:
		return nil, errors.New("the gRPC message is compressed, which the probe did not ask for")
	}
	return body[grpcPrefix:], nil
}

// healthRequest is a grpc.health.v1.HealthCheckRequest: field 1 is the service.
func healthRequest(service string) []byte {
	if service == "" {
		return nil
	}
	return append(binary.AppendUvarint([]byte{1<<3 | wireBytes}, uint64(len(service))), service...)
}

// Wire types of Protocol Buffers.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// servingStatus is the status in a grpc.health.v1.HealthCheckResponse: field 1. Unknown
// fields are skipped; the last one counts, as everywhere in Protocol Buffers.
func servingStatus(message []byte) (uint64, error) {
	malformed := errors.New("the gRPC message is no HealthCheckResponse")
	var status uint64
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 || tag>>3 == 0 {
			return 0, malformed
		}
		message = message[n:]
		var value, skip uint64
		switch tag & 7 {
		case wireVarint:
			value, n = binary.Uvarint(message)
			skip = uint64(max(n, 0))
		case wireFixed64:
			skip = 8
		case wireFixed32:
			skip = 4
		case wireBytes:
			value, n = binary.Uvarint(message)
			if n <= 0 || value > uint64(len(message)-n) {
				return 0, malformed
			}
			skip = uint64(n) + value
		default:
			return 0, malformed
		}
		if n <= 0 || skip > uint64(len(message)) {
			return 0, malformed
		}
		if tag == 1<<3|wireVarint {
			status = value
		} else if tag>>3 == 1 {
			return 0, malformed
		}
		message = message[skip:]
	}
	return status, nil
}
