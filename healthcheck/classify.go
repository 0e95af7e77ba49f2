package healthcheck

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode"

	"fairlead/router/route"
)

// phase is the part of a probe in which an error came up.
type phase string

const (
	phaseDNS     phase = "resolving the name"
	phaseConnect phase = "connecting"
	phaseTLS     phase = "the TLS handshake"
	phaseWrite   phase = "sending the request"
	phaseRead    phase = "waiting for the answer"
	phaseBody    phase = "reading the body"
)

// when says in which part of a probe something happened.
func (p phase) when() string {
	if p == phaseTLS {
		return "during " + string(p)
	}
	return "while " + string(p)
}

// verdict is an error in the words of json.md.
type verdict struct {
	kind    route.Kind
	message string
	clue    clue
}

// classify says what an error of a probe means. It is pure, and the only place that
// looks at errors of the network.
func classify(err error, in phase) verdict {
	switch {
	case isTimeout(err):
		v := verdict{kind: route.KindTimeout, message: "no answer in time " + in.when(), clue: clueSilence}
		switch in {
		case phaseDNS:
			v.clue = clueNone
		case phaseConnect:
			v.clue = clueNoConnection
		default:
		}
		return v
	case in == phaseDNS:
		return classifyDNS(err)
	}
	if v, ok := classifyErrno(err); ok {
		return v
	}
	if in == phaseTLS || isTLS(err) {
		return classifyTLS(err)
	}
	if in == phaseConnect {
		return verdict{kind: route.KindOther, message: "the connection could not be opened: " + plain(err)}
	}
	if isEnd(err) {
		return verdict{kind: route.KindHTTPError, message: "the backend closed the connection without an answer"}
	}
	return verdict{kind: route.KindHTTPError, message: "the exchange failed " + in.when() + ": " + plain(err)}
}

func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT) {
		return true
	}
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// isEnd reports whether the other side closed the connection.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe)
}

func classifyDNS(err error) verdict {
	var e *net.DNSError
	switch {
	case errors.Is(err, errNoAddress):
		return verdict{kind: route.KindDNSFailure, message: "the name has no address"}
	case errors.As(err, &e) && e.IsNotFound:
		return verdict{kind: route.KindDNSFailure, message: "the name does not exist"}
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return verdict{kind: route.KindLocalError, message: "the router has no file descriptor left to resolve the name"}
	}
	return verdict{kind: route.KindDNSFailure, message: "the name could not be resolved: " + plain(err)}
}

// errnos are the system's words for what went wrong with a connection.
var errnos = []struct {
	errno   syscall.Errno
	kind    route.Kind
	message string
}{
	{syscall.ECONNREFUSED, route.KindConnectionRefused, "connection refused"},
	{syscall.ECONNRESET, route.KindConnectionReset, "connection reset by the backend"},
	{syscall.EPIPE, route.KindConnectionReset, "the backend closed the connection while it was used"},
	{syscall.ECONNABORTED, route.KindConnectionReset, "connection aborted"},
	{syscall.EHOSTUNREACH, route.KindNoRouteToHost, "no route to host"},
	{syscall.EHOSTDOWN, route.KindHostUnreachable, "host is down"},
	{syscall.ENETUNREACH, route.KindNetworkUnreachable, "network is unreachable"},
	{syscall.ENETDOWN, route.KindNetworkUnreachable, "network is down"},
	{syscall.EMFILE, route.KindLocalError, "the router has no file descriptor left"},
	{syscall.ENFILE, route.KindLocalError, "the machine has no file descriptor left"},
	{syscall.EADDRNOTAVAIL, route.KindLocalError, "the router has no local port left"},
	{syscall.EADDRINUSE, route.KindLocalError, "the router has no local port left"},
	{syscall.ENOBUFS, route.KindLocalError, "the machine has no network buffers left"},
	{syscall.ENOMEM, route.KindLocalError, "the machine has no memory left for a connection"},
}

func classifyErrno(err error) (verdict, bool) {
	for i := range errnos {
		if errors.Is(err, errnos[i].errno) {
			return verdict{kind: errnos[i].kind, message: errnos[i].message}, true
		}
	}
	return verdict{}, false
}

// isTLS reports whether an error is one of TLS although the handshake was over: in
// TLS 1.3 a server refuses a client certificate only then.
func isTLS(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

func classifyTLS(err error) verdict {
	v := verdict{kind: route.KindTLSFailure}
	var (
		record    tls.RecordHeaderError
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		name      x509.HostnameError
		op        *net.OpError
	)
	switch {
	case errors.As(err, &record):
		v.message, v.clue = "the backend does not speak TLS on this port", cluePlainAnswer
	case errors.As(err, &authority):
		v.message, v.clue = "certificate signed by an unknown authority", clueUnknownCA
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		v.message, v.clue = "certificate expired or not yet valid"+validity(invalid.Cert), clueExpired
	case errors.As(err, &invalid):
		v.message = "certificate not valid: " + plain(invalid)
	case errors.As(err, &name):
		v.message, v.clue = "certificate is not for the name "+name.Host+certificateNames(name.Certificate), clueWrongName
	case errors.As(err, &op) && op.Op == "remote error":
		v.message = "the backend ended TLS: " + strings.TrimPrefix(plain(op.Err), "tls: ")
		switch {
		case strings.Contains(v.message, "no application protocol"):
			v.clue = clueALPN
		case strings.Contains(v.message, "certificate"):
			v.clue = clueClientCert
		}
	case isEnd(err):
		v.message = "the backend closed the connection during the TLS handshake"
	default:
		v.message = "TLS handshake failed: " + strings.TrimPrefix(plain(err), "tls: ")
	}
	return v
}

func validity(cert *x509.Certificate) string {
	if cert == nil {
		return ""
	}
	return " (" + cert.NotBefore.UTC().Format(time.DateOnly) + " to " + cert.NotAfter.UTC().Format(time.DateOnly) + ")"
}

func certificateNames(cert *x509.Certificate) string {
	const most = 5
	if cert == nil || len(cert.DNSNames) == 0 {
		return ""
	}
	var names []string
	for _, name := range cert.DNSNames[:min(len(cert.DNSNames), most)] {
		names = append(names, legible(name, maxShownName))
	}
	return " but for " + legible(strings.Join(names, ", "), maxShownText)
}

// How many bytes are shown of what others wrote: of a text, and of a name in one.
const (
	maxShownText = 200
	maxShownName = 64
)

// plain is an error's text, which may quote the other side.
func plain(err error) string { return legible(err.Error(), maxShownText) }

// legible is a text that is not ours: on one line, printable, of bounded length.
func legible(text string, most int) string {
	end := ""
	if len(text) > most {
		text, end = text[:most], "..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "")) + end
}
