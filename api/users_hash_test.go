package api

import (
	"strings"
	"testing"
)

// TestHashesOfOtherPrograms: the vectors of the reference implementations (argon2's
// test.c, crypt_blowfish), crypt(3) and sha256sum.
func TestHashesOfOtherPrograms(t *testing.T) {
	for _, c := range []struct{ hash, password string }{
		{"$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc", "password"},
		{"$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"},
		{bcryptOfCanary, canary},
		{shaOfCanary, canary},
	} {
		h, err := parseHash(c.hash)
		if err != nil {
			t.Errorf("%s: %v", c.hash, err)
			continue
		}
		if !h.matches(c.password) || h.matches(c.password+"x") || h.matches("") {
			t.Errorf("%s does not tell passwords apart", c.hash)
		}
	}
}

func TestHashPassword(t *testing.T) {
	for _, useBcrypt := range []bool{false, true} {
		one, err := HashPassword(canary, useBcrypt)
		two, _ := HashPassword(canary, useBcrypt)
		if err != nil || one == two || strings.Contains(one, canary) {
			t.Fatalf("%q %q %v", one, two, err)
		}
		if weak, err := CheckPasswordHash(one); err != nil || weak != "" {
			t.Errorf("%s: weak %q, %v", one, weak, err)
		}
		h, err := parseHash(one)
		if err != nil || !h.matches(canary) || h.matches(canary+" ") {
			t.Errorf("%s: %v", one, err)
		}
	}
	for _, c := range []struct {
		password  string
		useBcrypt bool
	}{{"", false}, {"", true}, {strings.Repeat("a", MaxPassword+1), false}, {strings.Repeat("a", 73), true}} {
		if h, err := HashPassword(c.password, c.useBcrypt); err == nil {
			t.Errorf("%d bytes: %s", len(c.password), h)
		}
	}
}

func TestHashesThatAreRefused(t *testing.T) {
	const key = "MDEyMzQ1Njc4OWFiY2RlZg"
	for _, c := range []struct{ text, says string }{
		{"", "known form"},
		{"hunter2", "known form"},
		{"$1$abc$def", "known form"},
		{strings.Repeat("g", 64), "known form"},
		{"$argon2i$v=19$m=19456,t=2,p=1$" + key + "$" + key, "known form"},
		{"$argon2id$v=16$m=19456,t=2,p=1$" + key + "$" + key, "$$"},
		{"$argon2id$v=19$m=19456,t=2$" + key + "$" + key, "m=19456"},
		{"$argon2id$v=19$m=19456,t=2,p=1x$" + key + "$" + key, "m=19456"},
		{"$argon2id$v=19$m=99999999,t=2,p=1$" + key + "$" + key, "too much"},
		{"$argon2id$v=19$m=19456,t=99,p=1$" + key + "$" + key, "too much"},
		{"$argon2id$v=19$m=19456,t=0,p=1$" + key + "$" + key, "too much"},
		{"$argon2id$v=19$m=19456,t=2,p=257$" + key + "$" + key, "too much"},
		{"$argon2id$v=19$m=4,t=2,p=1$" + key + "$" + key, "too much"},
		{"$argon2id$v=19$m=19456,t=2,p=1$$" + key, "cut"},
		{"$argon2id$v=19$m=19456,t=2,p=1$" + key + "$", "cut"},
		{"$argon2id$v=19$m=19456,t=2,p=1$" + key + "$" + key + "=", "cut"},
		{"$2b$12$short", "cut"},
		{"$2b$xx$" + strings.Repeat("a", 53), "cut"},
		{"$2b$31$" + strings.Repeat("a", 53), "14 at most"},
	} {
		if weak, err := CheckPasswordHash(c.text); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %q, %v; want %q", c.text, weak, err, c.says)
		} else if c.text != "" && strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), key) {
			t.Errorf("%q shows in %v", c.text, err)
		}
	}
	for text, says := range map[string]string{
		strings.Repeat("0", 64):                             "without a salt",
		"$2y$04$" + strings.Repeat("a", 53):                 "cost of 4",
		"$argon2id$v=19$m=64,t=1,p=1$" + key + "$" + key:    "little",
		"$argon2id$v=19$m=19456,t=2,p=1$" + key + "$" + key: "",
		"$argon2id$v=19$m=65536,t=3,p=4$" + key + "$" + key: "",
	} {
		if weak, err := CheckPasswordHash(text); err != nil || !strings.Contains(weak, says) || (says == "") != (weak == "") {
			t.Errorf("%s: %q %v", text, weak, err)
		}
	}
}
