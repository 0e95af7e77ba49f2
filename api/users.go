package api

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// Role is what somebody may do.
type Role string

// The roles. Whoever may administer may read.
const (
	RoleReadOnly Role = "read-only"
	RoleAdmin    Role = "admin"
)

// User is one who may log in.
type User struct {
	Name string
	Role Role
	// PasswordHash is argon2id, bcrypt, or SHA-256 in hex: see CheckPasswordHash.
	PasswordHash route.Secret
}

// MaxUserName bounds a name, in bytes.
const MaxUserName = 64

// CheckUser tells whether a user can be used, and what is weak about its hash. Neither
// holds any of the hash.
func CheckUser(u User) (weak string, err error) {
	switch {
	case u.Name == "":
		return "", fmt.Errorf("has no name")
	case len(u.Name) > MaxUserName:
		return "", fmt.Errorf("has a name of more than %d bytes", MaxUserName)
	case strings.ContainsFunc(u.Name, func(c rune) bool { return c == ':' || !unicode.IsPrint(c) }) || strings.TrimSpace(u.Name) != u.Name:
		return "", fmt.Errorf("has a name with a colon, a control character or a space at its end: HTTP Basic cannot carry it")
	case u.Name == Anonymous:
		return "", fmt.Errorf("is called %s, which is what those without a user are called", Anonymous)
	case u.Role != RoleAdmin && u.Role != RoleReadOnly:
		return "", fmt.Errorf("has a role that is neither admin nor read-only")
	}
	weak, err = CheckPasswordHash(u.PasswordHash.Reveal())
	if err != nil {
		return "", fmt.Errorf("has a passwordHash that %w: fairlead hash-password makes one", err)
	}
	return weak, nil
}

// Bounds of password checks. One of argon2id with the usual parameters holds 19 MiB.
const (
	maxChecks  = 2 // at once, and half of the processors
	checkWait  = 3 * time.Second
	fresh      = time.Minute // a Basic credential is not checked again
	remembered = time.Hour   // and is not slowed by the failures of others, from its address
	maxFrom    = 64          // addresses of one user that are remembered
)

// account is a user with what is known about its password.
type account struct {
	name string
	role Role
	hash passwordHash

	mu   sync.Mutex
	mac  []byte                     // of the credential that was right last
	from map[netip.Prefix]time.Time // where it came from, and when last
}

// gotIn remembers that a credential was right. Of the addresses it forgets the one that
// was there longest ago.
func (a *account) gotIn(mac []byte, address netip.Prefix) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.from == nil {
		a.from = map[netip.Prefix]time.Time{}
	}
	a.mac, a.from[address] = mac, time.Now()
	if len(a.from) <= maxFrom {
		return
	}
	var oldest netip.Prefix
	for p, at := range a.from {
		if p != address && (oldest == netip.Prefix{} || at.Before(a.from[oldest])) {
			oldest = p
		}
	}
	delete(a.from, oldest)
}

// users checks passwords. It is safe for concurrent use.
type users struct {
	log      zerolog.Logger
	list     []*account
	byName   map[string]*account
	key      [32]byte // of everything that is derived from names and passwords
	limiter  *limiter
	checking chan struct{}
}

// newUsers leaves out users that CheckUser refuses, and logs them.
func newUsers(list []User, log zerolog.Logger) *users {
	u := &users{log: log, byName: map[string]*account{}, checking: make(chan struct{}, max(1, min(maxChecks, runtime.GOMAXPROCS(0)/2)))}
	_, _ = rand.Read(u.key[:]) // never fails (crypto/rand)
	var names []string
	for _, one := range list {
		if _, err := CheckUser(one); err != nil {
			log.Error().Str("user", quoted(one.Name)).Err(err).Msg("admin.users: entry ignored")
			continue
		}
		hash, _ := parseHash(one.PasswordHash.Reveal()) // as CheckUser did
		a := &account{name: one.Name, role: one.Role, hash: hash}
		u.list, u.byName[a.name] = append(u.list, a), a
		names = append(names, a.name)
	}
	u.limiter = newLimiter(names)
	return u
}

// none reports whether nobody can log in.
func (u *users) none() bool { return len(u.list) == 0 }

// derive is a keyed hash of parts.
func (u *users) derive(parts ...string) []byte {
	h := hmac.New(sha256.New, u.key[:])
	for _, p := range parts {
		_ = binary.Write(h, binary.BigEndian, uint64(len(p))) // hashes do not fail
		_, _ = h.Write([]byte(p))
	}
	return h.Sum(nil)
}

// login checks a name and a password. Whether the name exists shows neither in the
// answer nor in the time that it takes. With reuse, a credential that was right within
// the last minute is not computed again.
func (u *users) login(ctx context.Context, remote, name, password string, reuse bool) (*account, *Error) {
	mac, place := u.derive("credential", name, password), binary.BigEndian.Uint64(u.derive("name", name))
	address := prefixOf(remote)
	known, age := u.recognise(name, mac, address)
	if known && reuse && age < fresh {
		return u.byName[name], nil
	}
	counted := !known || age >= remembered
	if counted {
		if d := u.limiter.take(address, name, place); d > 0 {
			return nil, slowDown(d)
		}
	}
	if !u.acquire(ctx) {
		if counted {
			u.limiter.back(address, name, place)
		}
		return nil, slowDown(time.Second)
	}
	a := u.byName[name]
	// A name that no user has costs what one of the users costs, always the same one.
	target := a
	if a == nil {
		target = u.list[place%uint64(len(u.list))]
	}
	right := len(password) <= MaxPassword && target.hash.matches(password)
	<-u.checking
	if !right || a == nil {
		u.failed(a, address.Addr().String())
		return nil, wrongPassword()
	}
	if counted {
		u.limiter.back(address, name, place)
	}
	a.gotIn(mac, address)
	return a, nil
}

// recognise reports whether a credential was right from this address, and how long ago:
// from elsewhere a right guess must be slowed as wrong ones are, or it would stand out.
func (u *users) recognise(name string, mac []byte, address netip.Prefix) (known bool, age time.Duration) {
	a := u.byName[name]
	if a == nil {
		return false, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	at, seen := a.from[address]
	return seen && hmac.Equal(a.mac, mac), time.Since(at)
}

// acquire waits for its turn to check a password; whoever is told true gives it back.
func (u *users) acquire(ctx context.Context) bool {
	timer := time.NewTimer(checkWait)
	defer timer.Stop()
	select {
	case u.checking <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

// failed logs an attempt. A name that no user has may be a password in the wrong field,
// so it is not shown.
func (u *users) failed(a *account, address string) {
	name := "(unknown)"
	if a != nil {
		name = a.name
	}
	u.log.Warn().Str("user", name).Str("client", address).Msg("login failed")
}

func slowDown(d time.Duration) *Error {
	seconds := max(1, int((d+time.Second-1)/time.Second))
	return &Error{
		Message: fmt.Sprintf("too many logins: wait %d s", seconds), Code: CodeTooMany, status: http.StatusTooManyRequests,
		header: http.Header{"Retry-After": {strconv.Itoa(seconds)}},
	}
}

func wrongPassword() *Error {
	return &Error{Message: "the name or the password is wrong", Code: CodeUnauthorized, status: http.StatusUnauthorized}
}
