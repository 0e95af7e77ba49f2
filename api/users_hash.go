package api

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// What HashPassword makes: argon2id with the parameters that OWASP recommends for
// little memory, since every login costs that much.
const (
	argonMemory  = 19 << 10 // KiB
	argonTime    = 2
	argonThreads = 1
	argonSalt    = 16 // bytes
	argonKey     = 32
	bcryptCost   = 12
)

// What a hash of the configuration may cost, so that a login cannot hold the router.
const (
	maxArgonMemory = 256 << 10 // KiB
	maxArgonTime   = 16
	maxArgonLanes  = 16
	maxBcryptCost  = 14 // about a second
	minBcryptCost  = 10
)

// MaxPassword bounds a password, in bytes; bcrypt takes 72 at most.
const MaxPassword = 1024

// HashPassword returns the hash of a password with a random salt, argon2id or bcrypt,
// in the form that admin.users takes.
func HashPassword(password string, useBcrypt bool) (string, error) {
	switch {
	case password == "":
		return "", errors.New("the password is empty")
	case len(password) > MaxPassword:
		return "", fmt.Errorf("the password has %d bytes, %d at most", len(password), MaxPassword)
	case useBcrypt && len(password) > 72:
		return "", fmt.Errorf("the password has %d bytes, and bcrypt reads 72 of them: use argon2id", len(password))
	}
	if useBcrypt {
		text, err := bcrypt.GenerateFromPassword([]byte(password), bcryptCost)
		return string(text), err
	}
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt) // never fails (crypto/rand)
	key := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		b64.EncodeToString(salt), b64.EncodeToString(key)), nil
}

// passwordHash is a parsed hash of the configuration.
type passwordHash interface {
	// matches compares in a time that depends on the hash alone.
	matches(password string) bool
	// weak says why the hash protects a password badly, "" when it does not.
	weak() string
}

// CheckPasswordHash tells whether a hash can be used for admin.users, and what is weak
// about it. Neither the error nor the warning holds any of it.
func CheckPasswordHash(text string) (weak string, err error) {
	h, err := parseHash(text)
	if err != nil {
		return "", err
	}
	return h.weak(), nil
}

func parseHash(text string) (passwordHash, error) {
	switch {
	case strings.HasPrefix(text, "$argon2id$"):
		return parseArgon(text)
	case strings.HasPrefix(text, "$2a$"), strings.HasPrefix(text, "$2b$"), strings.HasPrefix(text, "$2y$"):
		return parseBcrypt(text)
	case len(text) == hex.EncodedLen(sha256.Size):
		if sum, err := hex.DecodeString(text); err == nil {
			return shaHash(sum), nil
		}
	}
	return nil, errors.New("is no hash of a known form: argon2id ($argon2id$...), bcrypt ($2b$...) or SHA-256 in 64 hex digits")
}

// argonHash is $argon2id$v=19$m=19456,t=2,p=1$salt$key, base64 without padding.
type argonHash struct {
	memory, time uint32
	lanes        uint8
	salt, key    []byte
}

func parseArgon(text string) (passwordHash, error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[2] != "v=19" {
		return nil, errors.New("is not complete: argon2id is written $argon2id$v=19$m=...,t=...,p=...$salt$key " +
			"(in a compose file each $ is written $$)")
	}
	var memory, time, lanes uint32
	if n, err := fmt.Sscanf(parts[3]+" ", "m=%d,t=%d,p=%d ", &memory, &time, &lanes); err != nil || n != 3 {
		return nil, errors.New("has parameters that cannot be read: write m=19456,t=2,p=1")
	}
	if memory > maxArgonMemory || time > maxArgonTime || lanes > maxArgonLanes || time < 1 || lanes < 1 || memory < 8*lanes {
		return nil, fmt.Errorf("would cost too much or nothing at each login: m from 8*p to %d, t from 1 to %d, p from 1 to %d",
			maxArgonMemory, maxArgonTime, maxArgonLanes)
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	key, keyErr := base64.RawStdEncoding.DecodeString(parts[5])
	if saltErr != nil || keyErr != nil || len(salt) < 8 || len(salt) > 64 || len(key) < 16 || len(key) > 64 {
		return nil, errors.New("has a salt or a key that is cut or not base64")
	}
	return argonHash{memory, time, uint8(lanes), salt, key}, nil
}

func (h argonHash) matches(password string) bool {
	key := argon2.IDKey([]byte(password), h.salt, h.time, h.memory, h.lanes, uint32(len(h.key)))
	return subtle.ConstantTimeCompare(key, h.key) == 1
}

func (h argonHash) weak() string {
	if uint64(h.memory)*uint64(h.time) < argonMemory {
		return "argon2id with little memory and time"
	}
	return ""
}

type bcryptHash struct {
	text []byte
	cost int
}

func parseBcrypt(text string) (passwordHash, error) {
	cost, err := bcrypt.Cost([]byte(text))
	if err != nil || len(text) != 60 {
		return nil, errors.New("is a bcrypt hash that is cut or changed (in a compose file each $ is written $$)")
	}
	if cost > maxBcryptCost {
		return nil, fmt.Errorf("has a bcrypt cost of %d, %d at most: each login would take long", cost, maxBcryptCost)
	}
	return bcryptHash{[]byte(text), cost}, nil
}

func (h bcryptHash) matches(password string) bool {
	return bcrypt.CompareHashAndPassword(h.text, []byte(password)) == nil
}

func (h bcryptHash) weak() string {
	if h.cost < minBcryptCost {
		return fmt.Sprintf("bcrypt with a cost of %d", h.cost)
	}
	return ""
}

// shaHash is Sōzune's: SHA-256 of the password, without a salt.
type shaHash []byte

func (h shaHash) matches(password string) bool {
	sum := sha256.Sum256([]byte(password))
	return subtle.ConstantTimeCompare(sum[:], h) == 1
}

func (h shaHash) weak() string { return "SHA-256 without a salt" }
