package whoami

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"
)

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/health", s.health)
	mux.HandleFunc("/status", s.setStatus)
	mux.HandleFunc("/grpc.health.v1.Health/Check", s.grpcHealth)
	mux.HandleFunc("/require-auth", s.requireAuth)
	mux.HandleFunc("/echo", echo)
	mux.HandleFunc("/upload", s.upload)
	mux.HandleFunc("/stats", s.stats)
	mux.HandleFunc("/bytes", bytes)
	mux.HandleFunc("/headers", headers)
	mux.HandleFunc("/sse", s.events)
	mux.HandleFunc("/ws", s.websocket)
	mux.HandleFunc("/no-such-page", http.NotFound)
	mux.HandleFunc("/nope", http.NotFound)
	mux.HandleFunc("/", s.who)
	return mux
}

// who says who answered: `?wait=1s` delays, `?status=503` sets the status.
func (s *server) who(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Delay > 0 && !wait(r.Context(), s.cfg.Delay) {
		return
	}
	if d, err := time.ParseDuration(r.URL.Query().Get("wait")); err == nil && !wait(r.Context(), min(d, 10*time.Minute)) {
		return
	}
	status, err := strconv.Atoi(r.URL.Query().Get("status"))
	if err != nil || status < 200 || status > 599 {
		status = int(s.status.Load())
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	for _, line := range [][2]string{
		{"Name", s.cfg.Name}, {"Hostname", s.host}, {"Remote", r.RemoteAddr}, {"Method", r.Method},
		{"Path", r.URL.RequestURI()}, {"Host", r.Host},
		{"X-Forwarded-For", r.Header.Get("X-Forwarded-For")}, {"X-Forwarded-Proto", r.Header.Get("X-Forwarded-Proto")},
	} {
		_, _ = fmt.Fprintf(w, "%s: %s\n", line[0], line[1])
	}
}

// health answers 200 or 503; POST ok=0 or ok=1 flips it.
func (s *server) health(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		ok := r.FormValue("ok")
		if ok != "0" && ok != "1" {
			http.Error(w, "ok must be 0 or 1", http.StatusBadRequest)
			return
		}
		s.illness.SetIll(ok == "0")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if s.illness.Ill() {
		http.Error(w, "unhealthy", http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "healthy\n")
}

// setStatus changes what / answers: POST status=503.
func (s *server) setStatus(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.FormValue("status"))
	if r.Method != http.MethodPost || err != nil || n < 200 || n > 599 {
		http.Error(w, "POST a status of 200 to 599", http.StatusBadRequest)
		return
	}
	s.status.Store(int64(n))
	w.WriteHeader(http.StatusNoContent)
}

// requireAuth answers 200 to the right Authorization header, else 401.
func (s *server) requireAuth(w http.ResponseWriter, r *http.Request) {
	if s.cfg.RequireAuth == "" || r.Header.Get("Authorization") != s.cfg.RequireAuth {
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	_, _ = io.WriteString(w, "authorized\n")
}

// echo sends the request body back as it comes.
func echo(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	_ = rc.EnableFullDuplex()
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Body.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return
			}
			_ = rc.Flush()
		}
		if err != nil {
			return
		}
	}
}

// upload reads a body as it comes and says how much of it arrived.
func (s *server) upload(w http.ResponseWriter, r *http.Request) {
	sum := sha256.New()
	n, err := io.Copy(sum, r.Body)
	if err != nil {
		http.Error(w, "the body ended early", http.StatusBadRequest)
		return
	}
	_, _ = fmt.Fprintf(w, "Name: %s\nHostname: %s\nBytes: %d\nSHA256: %x\n", s.cfg.Name, s.host, n, sum.Sum(nil))
}

// bytes sends ?n= bytes, 1 GiB at most.
func bytes(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.ParseInt(r.URL.Query().Get("n"), 10, 64)
	if err != nil || n < 0 || n > 1<<30 {
		http.Error(w, "n must be 0 to 1073741824", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
	_, _ = io.CopyN(w, zeros{}, n)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// headers lists the request's header as this backend saw it.
func headers(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		names = append(names, name)
	}
	sort.Strings(names)
	_, _ = fmt.Fprintf(w, "Host: %s\n", r.Host)
	for _, name := range names {
		_, _ = fmt.Fprintf(w, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
	}
}
