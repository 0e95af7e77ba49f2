package webhook

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"fairlead/api"
	"fairlead/router/route"
)

// Attempts and the pauses between them. Half of a pause is drawn, so that routers that
// lost the same receiver do not come back together.
const (
	maxAttempts  = 6
	firstPause   = time.Second
	longestPause = time.Minute
	maxReply     = 64 << 10 // bytes read of an answer, which nobody looks at
)

// permanentError is a refusal that another attempt would meet again.
type permanentError struct{ text string }

func (e *permanentError) Error() string { return e.text }

// busyError is a refusal for now.
type busyError struct {
	text string
	wait time.Duration // as Retry-After says; 0 without it
}

func (e *busyError) Error() string { return e.text }

// deliver sends one notice, in several attempts if need be.
func (s *Sender) deliver(ctx context.Context, w *waiting) {
	body, err := json.Marshal(s.write(w))
	if err != nil {
		s.failed.Add(1) // plain data: it cannot fail
		return
	}
	id := deliveryID()
	for attempt := 1; ; attempt++ {
		err := s.post(ctx, id, body)
		var permanent *permanentError
		switch {
		case err == nil:
			s.sent.Add(1)
			s.answers()
			return
		case ctx.Err() != nil:
			s.dropped.Add(1) // the router stops
			return
		case attempt == maxAttempts, errors.As(err, &permanent):
			s.failed.Add(1)
			s.complain(err, attempt, "webhook: a notice was given up")
			return
		}
		s.complain(err, attempt, "webhook: the receiver does not take a notice; it is sent again")
		if !pause(ctx, waitAfter(err, attempt)) {
			s.dropped.Add(1)
			return
		}
		s.retries.Add(1)
	}
}

// write makes the body of a notice.
func (s *Sender) write(w *waiting) *Notice {
	t := &w.transition
	n := &Notice{EventTransition: api.TransitionOf(t), Event: w.event, Level: w.level, Text: sentence(w.event, t)}
	if s.cfg.Explain != nil && t.Renamed == "" { // the old id may be another one's
		if text := s.cfg.Explain(t.Entrypoint, t.Backend, t.To); text != "" {
			n.Explain = &text
		}
	}
	return n
}

// post makes one attempt.
func (s *Sender) post(ctx context.Context, id string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.target.String(), bytes.NewReader(body))
	if err != nil {
		return &permanentError{"the request cannot be made"} // the error shows the address
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "fairlead/"+s.cfg.Version)
	req.Header.Set(HeaderDelivery, id)
	req.Header.Set(HeaderTimestamp, stamp)
	if s.cfg.Secret != "" {
		req.Header.Set(HeaderSignature, Sign(s.cfg.Secret.Reveal(), stamp, body))
	}
	res, err := s.client.Do(req)
	if err != nil {
		return s.plain(err)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxReply)) // so that the connection serves again
	return judge(res)
}

// plain is an error without the address: that of url.Error holds all of it.
func (s *Sender) plain(err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", s.cfg.Timeout)
	}
	return err
}

// judge reads an answer: nil when the notice is taken.
func judge(res *http.Response) error {
	status := res.StatusCode
	text := "status " + strconv.Itoa(status)
	switch {
	case status >= 200 && status < 300:
		return nil
	case status >= 300 && status < 400:
		return &permanentError{text + ": redirects are not followed; give the address they lead to"}
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if err != nil || seconds < 0 {
			seconds = 0
		}
		return &busyError{text, min(time.Duration(min(seconds, 3600))*time.Second, longestPause)}
	}
	return &permanentError{text}
}

// waitAfter is the pause after an attempt, counted from 1.
func waitAfter(err error, attempt int) time.Duration {
	d := min(firstPause<<(attempt-1), longestPause)
	d = d/2 + mathrand.N(d/2+1)
	if busy, ok := errors.AsType[*busyError](err); ok {
		d = max(d, busy.wait)
	}
	return d
}

// pause reports whether the time passed; false is the end of ctx.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// complain warns once of a receiver that does not take notices; the rest is for those
// who look closer.
func (s *Sender) complain(err error, attempt int, what string) {
	level := zerolog.DebugLevel
	if !s.silent {
		level = zerolog.WarnLevel
	}
	s.silent = true
	s.cfg.Log.WithLevel(level).Str("receiver", s.target.Host).AnErr(route.FieldCause, err).Int("attempt", attempt).Msg(what)
}

// answers says that the receiver takes notices again.
func (s *Sender) answers() {
	if s.silent {
		s.silent = false
		s.cfg.Log.Info().Str("receiver", s.target.Host).Msg("webhook: notices are taken again")
	}
}

func deliveryID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
