package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead/router/route"
)

// rawRow is one row of testdata/requests.txt.
type rawRow struct {
	name         string
	send         string
	want, native []string
}

var repeatMark = regexp.MustCompile(`\{(.)\*([0-9]+)\}`)

func rawText(t *testing.T, text string) string {
	t.Helper()
	text = repeatMark.ReplaceAllStringFunc(text, func(m string) string {
		part := repeatMark.FindStringSubmatch(m)
		n, _ := strconv.Atoi(part[2])
		return strings.Repeat(part[1], n)
	})
	text = strings.ReplaceAll(text, `\0`, `\x00`)
	text = strings.ReplaceAll(text, `"`, `\"`)
	out, err := strconv.Unquote(`"` + text + `"`)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return out
}

func rawRows(t *testing.T) []rawRow {
	t.Helper()
	text, err := os.ReadFile("testdata/requests.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rows []rawRow
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		row := &rawRow{}
		if len(rows) > 0 {
			row = &rows[len(rows)-1]
		}
		switch {
		case strings.HasPrefix(line, "== "):
			rows = append(rows, rawRow{name: line[3:]})
		case strings.HasPrefix(line, ">|"):
			row.send += rawText(t, strings.TrimPrefix(line[2:], " "))
		case strings.HasPrefix(line, ">"):
			row.send += rawText(t, strings.TrimPrefix(line[1:], " ")) + "\r\n"
		case strings.HasPrefix(line, "native "):
			row.native = append(row.native, line[len("native "):])
		case line != "" && line[0] != '#':
			row.want = append(row.want, line)
		}
	}
	return rows
}

// seen is a request as a backend read it from its socket.
type seen struct {
	line   string
	header []string
	body   string
}

func (s *seen) values(name string) []string {
	var all []string
	for _, line := range s.header {
		if n, v, _ := strings.Cut(line, ":"); strings.EqualFold(n, name) {
			all = append(all, strings.TrimSpace(v))
		}
	}
	return all
}

// readSeen reads a request without any library's help or repair.
func readSeen(r *bufio.Reader) (*seen, error) {
	s := &seen{}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if line == "" {
			break
		}
		if s.line == "" {
			s.line = line
		} else {
			s.header = append(s.header, line)
		}
	}
	var body io.Reader = strings.NewReader("")
	if len(s.values("Transfer-Encoding")) > 0 {
		body = httputil.NewChunkedReader(r)
	} else if v := s.values("Content-Length"); len(v) > 0 {
		n, err := strconv.ParseInt(v[0], 10, 64)
		if err != nil {
			return nil, err
		}
		body = io.LimitReader(r, n)
	}
	all, err := io.ReadAll(body)
	if err != nil {
		return s, err
	}
	s.body = string(all)
	if len(s.values("Transfer-Encoding")) > 0 {
		for { // trailers and the last CRLF
			line, err := r.ReadString('\n')
			if err != nil || line == "\r\n" {
				return s, err
			}
		}
	}
	return s, nil
}

// recorder is a backend that notes what it got and answers 200.
type recorder struct {
	mu  sync.Mutex
	got []*seen
}

func (b *recorder) serve(_ int, c net.Conn, r *bufio.Reader) {
	for {
		s, err := readSeen(r)
		if err != nil {
			return
		}
		b.mu.Lock()
		b.got = append(b.got, s)
		b.mu.Unlock()
		if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); err != nil {
			return
		}
	}
}

// take returns what was got since the last time.
func (b *recorder) take() []*seen {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := b.got
	b.got = nil
	return got
}

// rawOutcome is what came of a row.
type rawOutcome struct {
	res    *http.Response // nil: the connection ended without an answer
	closed bool
	got    *seen // nil: nothing reached the backend
}

// check returns what of a list of expectations does not hold.
func (o *rawOutcome) check(t *testing.T, expectations []string) []string {
	t.Helper()
	var wrong []string
	for _, e := range expectations {
		word, rest, _ := strings.Cut(e, " ")
		if have, ok := o.holds(t, word, rest); !ok {
			wrong = append(wrong, fmt.Sprintf("want %s, have %s", e, have))
		}
	}
	return wrong
}

func (o *rawOutcome) holds(t *testing.T, word, rest string) (have string, ok bool) {
	t.Helper()
	name, value, _ := strings.Cut(rest, ": ")
	switch word {
	case "status":
		have = "cut"
		if o.res != nil {
			have = strconv.Itoa(o.res.StatusCode)
		}
		return have, have == rest
	case "reason":
		have = "-"
		if o.res != nil {
			if _, after, found := strings.Cut(o.res.Header.Get("Proxy-Status"), `details="`); found {
				have = strings.TrimSuffix(after, `"`)
			}
		}
		return have, have == rest
	case "close", "keep":
		return fmt.Sprintf("closed %v", o.closed), o.closed == (word == "close")
	case "got":
		have = strings.Join(o.res.Header.Values(name), " | ")
		return have, have == value
	}
	if o.got == nil {
		return "nothing at the backend", word == "backend" && rest == "none"
	}
	switch word {
	case "backend":
		return o.got.line, o.got.line == rawText(t, rest)
	case "sees":
		have = strings.Join(o.got.values(name), " | ")
		return have, have == value
	case "unseen":
		return strings.Join(o.got.values(rest), " | "), len(o.got.values(rest)) == 0
	case "body":
		return o.got.body, o.got.body == rest
	}
	t.Fatalf("unknown expectation %q", word)
	return "", false
}

// TestRawRequests runs the table against the net/http front.
func TestRawRequests(t *testing.T) {
	backend := &recorder{}
	address := serveRaw(t, backend.serve)
	r := newRig(t, func(c *Config) { c.Timeouts.Header = 500 * time.Millisecond })
	r.route("app.test", []string{address})
	r.route("my_app.test", []string{address})
	r.route("strip.test", []string{address}, func(e *route.Entrypoint) {
		e.Match.Path.Value = "/a b"
		e.Options.StripPrefix = true
	})
	r.route("add.test", []string{address}, func(e *route.Entrypoint) { e.Options.AddPrefix = "/base" })
	r.start()
	var native []string
	rows := rawRows(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			out := r.runRaw(t, &row, backend)
			wrong := out.check(t, row.want)
			if len(row.native) == 0 {
				if len(wrong) > 0 {
					t.Errorf("%q:\n%s", row.send, strings.Join(wrong, "\n"))
				}
				return
			}
			native = append(native, row.name)
			if len(wrong) == 0 {
				t.Errorf("the row holds now: remove its native mark")
			}
			if wrong := out.check(t, row.native); len(wrong) > 0 {
				t.Errorf("%q deviates in another way than noted:\n%s", row.send, strings.Join(wrong, "\n"))
			}
		})
	}
	t.Logf("%d rows; native: %s", len(rows), strings.Join(native, "; "))
}

const probe = "GET /probe HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n"

func (r *rig) runRaw(t *testing.T, row *rawRow, backend *recorder) *rawOutcome {
	t.Helper()
	backend.take()
	c := r.dial()
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, row.send); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(row.send, " ")
	reader := bufio.NewReader(c)
	out := &rawOutcome{}
	res, err := http.ReadResponse(reader, &http.Request{Method: method})
	if err != nil {
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%q: %v", row.send, err)
		}
		out.closed = true
	} else {
		if method == "CONNECT" { // ReadResponse takes its answers for tunnels
			res.Body = http.NoBody
		}
		_, _ = io.Copy(io.Discard, res.Body)
		out.res = res
		out.closed = r.closedAfter(t, row, c, reader)
	}
	if got := backend.take(); len(got) > 0 && got[0].line != "GET /probe HTTP/1.1" {
		out.got = got[0]
	}
	return out
}

// closedAfter asks whether another request over the connection is answered.
func (r *rig) closedAfter(t *testing.T, row *rawRow, c net.Conn, reader *bufio.Reader) bool {
	t.Helper()
	if row.name == "pipelined requests" {
		res, err := http.ReadResponse(reader, nil)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("the second of two pipelined requests: %v", err)
			return true
		}
		_, _ = io.Copy(io.Discard, res.Body)
	}
	if _, err := io.WriteString(c, probe); err != nil {
		return true
	}
	res, err := http.ReadResponse(reader, nil)
	if err != nil {
		return true
	}
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode != http.StatusOK
}
