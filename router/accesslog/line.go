package accesslog

import (
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// Bounds of what a client can put into a line, in bytes.
const (
	maxMethod = 32
	maxHost   = 255
	maxPath   = 2048
	maxAgent  = 256
)

// timeFormat has milliseconds, as the router's own log.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// line writes a request's line. weight is how many requests it stands for.
func (l *Log) line(x *exchange.Exchange, target string, weight int) {
	now := time.Now()
	var room [64]byte
	e := l.lines.Log().
		Bytes("time", now.AppendFormat(room[:0], timeFormat)).
		Bytes("client", appendClient(room[:0], x)).
		Str("method", bounded(x.Verb, maxMethod)).
		Str("host", hostOf(x)).
		Str("path", l.path(target)).
		Str("protocol", protocol(x)).
		Int("status", x.Status).
		Int64("bytes_in", x.Received).
		Int64("bytes_out", x.Sent).
		RawJSON("duration_ms", appendMillis(room[:0], now.Sub(x.Began))).
		RawJSON("connect_ms", appendMillis(room[:0], x.Connect)).
		RawJSON("backend_ms", appendMillis(room[:0], x.Answer)).
		Int("attempts", x.Attempts)
	l.optional(e, x, weight)
	e.Send()
}

// optional adds what not every request has.
func (l *Log) optional(e *zerolog.Event, x *exchange.Exchange, weight int) {
	var room [64]byte
	if x.Held > 0 {
		e.RawJSON("held_ms", appendMillis(room[:0], x.Held))
	}
	if x.Route != nil {
		e.Str("entrypoint", x.Route.Entrypoint.ID)
	}
	if x.Backend != nil {
		b := &x.Backend.Backend
		e.Str("backend", b.ID).Str("address", b.Address())
	}
	if x.Reason != route.ReasonNone {
		e.Str("reason", string(x.Reason))
	}
	if x.Header != nil {
		if agent := x.Header.Get("User-Agent"); agent != "" {
			e.Str("user_agent", bounded(agent, maxAgent))
		}
		if id := traceID(x.Header.Get("Traceparent")); id != "" {
			e.Str("trace_id", id)
		}
	}
	if weight > 1 {
		e.Int("weight", weight)
	}
}

// appendClient writes the client's address: the peer's where the request was refused
// before forwarding headers were looked at.
func appendClient(b []byte, x *exchange.Exchange) []byte {
	client := x.Client
	if client == (netip.Addr{}) {
		client = x.Peer.Addr().Unmap()
	}
	return client.AppendTo(b)
}

func protocol(x *exchange.Exchange) string {
	switch {
	case x.Major == 1 && x.Minor == 1:
		return "HTTP/1.1"
	case x.Major == 1:
		return "HTTP/1." + strconv.Itoa(x.Minor)
	case x.Major == 2:
		return "HTTP/2"
	}
	return "HTTP/" + strconv.Itoa(x.Major)
}

// hostOf is the canonical host, or what the client sent in its place, without a user.
func hostOf(x *exchange.Exchange) string {
	if x.HostName != "" {
		return bounded(x.HostName, maxHost)
	}
	return bounded(x.Authority[strings.LastIndexByte(x.Authority, '@')+1:], maxHost)
}

// path is the target as it was sent, without scheme, user and host, and with as much
// of the query as may be shown.
func (l *Log) path(target string) string {
	target, _, _ = strings.Cut(target, "#") // refused, and never meant for a server
	path, query, found := strings.Cut(target, "?")
	path = withoutAuthority(path)
	if !found || l.cfg.Query == QueryDropped {
		return bounded(path, maxPath)
	}
	if l.cfg.Query != QueryKept {
		query = redacted(query)
	}
	return bounded(bounded(path, maxPath)+"?"+query, maxPath)
}

// withoutAuthority leaves the path of a target in absolute form, and of a host with a
// user the host.
func withoutAuthority(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	if _, rest, absolute := strings.Cut(path, "://"); absolute {
		slash := strings.IndexByte(rest, '/')
		if slash < 0 {
			return "/"
		}
		return rest[slash:]
	}
	return path[strings.LastIndexByte(path, '@')+1:]
}

// redacted hides the values of a query. A parameter without a value may be a token
// itself, padded with "=", and is hidden as a whole.
func redacted(query string) string {
	if len(query) > maxPath {
		query = query[:maxPath]
	}
	var b strings.Builder
	b.Grow(len(query) + len(route.Redacted))
	for i := 0; i <= len(query); {
		end := strings.IndexAny(query[i:], "&;")
		if end < 0 {
			end = len(query) - i
		}
		name, value, _ := strings.Cut(query[i:i+end], "=")
		switch {
		case strings.Trim(value, "=") != "":
			b.WriteString(name + "=" + route.Redacted)
		case name != "":
			b.WriteString(route.Redacted)
		}
		if i += end; i < len(query) {
			b.WriteByte(query[i])
		}
		i++
	}
	return b.String()
}

// traceID is the trace id of a traceparent field (W3C Trace Context, section 3.2), or
// "" when the field is not one.
func traceID(field string) string {
	const version, id, parent, flags = 2, 32, 16, 2
	const length = version + 1 + id + 1 + parent + 1 + flags
	if len(field) < length || field[:version] == "ff" || len(field) > length && (field[:version] == "00" || field[length] != '-') {
		return ""
	}
	zero := true
	for i := range length {
		c := field[i]
		switch i {
		case version, version + 1 + id, version + 1 + id + 1 + parent:
			if c != '-' {
				return ""
			}
			continue
		}
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ""
		}
		zero = zero && (i <= version || i > version+id || c == '0')
	}
	if zero {
		return ""
	}
	return field[version+1 : version+1+id]
}

// bounded cuts what a client sent.
func bounded(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "..."
}

// appendMillis writes milliseconds with three digits behind the point.
func appendMillis(b []byte, d time.Duration) []byte {
	us := max(d, 0).Microseconds()
	b = strconv.AppendInt(b, us/1000, 10)
	b = append(b, '.')
	rest := us % 1000
	return append(b, byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}
