package api

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// status of a try at a user of countingUsers.
func try(t *testing.T, u *users, remote, name, password string) (int, time.Duration) {
	t.Helper()
	a, err := u.login(t.Context(), remote, name, password, true)
	if a != nil {
		return http.StatusOK, 0
	}
	seconds, _ := strconv.Atoi(err.header.Get("Retry-After"))
	return err.status, time.Duration(seconds) * time.Second
}

func TestTriesFromOneAddressAreSlowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, c := countingUsers(0)
		const bad, good = "198.51.100.1:1000", "198.51.100.2:1000"
		for i := range triesPerAddress {
			if status, _ := try(t, u, bad, fmt.Sprintf("name%d", i), "x"); status != http.StatusUnauthorized {
				t.Fatalf("try %d: %d", i, status)
			}
		}
		status, wait := try(t, u, bad, "ops", canary)
		if status != http.StatusTooManyRequests || wait <= 0 || wait > addressPeriod || c.calls.Load() != triesPerAddress {
			t.Errorf("%d, wait %v, %d hashes", status, wait, c.calls.Load())
		}
		if status, _ := try(t, u, good, "ops", canary); status != http.StatusOK {
			t.Errorf("another address: %d", status)
		}
		<-time.After(wait)
		if status, _ := try(t, u, bad, "other", "x"); status != http.StatusUnauthorized {
			t.Errorf("after %v: %d", wait, status)
		}
		if status, _ := try(t, u, bad, "other", "x"); status != http.StatusTooManyRequests {
			t.Errorf("right after it: %d", status)
		}
		// Over a long time: what the period permits, and not more.
		began, before := time.Now(), c.calls.Load()
		for time.Since(began) < time.Hour {
			_, wait := try(t, u, bad, "other", "x")
			<-time.After(max(wait, time.Second))
		}
		if n := c.calls.Load() - before; n > int32(time.Hour/addressPeriod)+triesPerAddress || n < 300 {
			t.Errorf("%d hashes in an hour", n)
		}
	})
}

// TestLoginsThatSucceedDoNotCount: who mistypes sometimes is not slowed.
func TestLoginsThatSucceedDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, _ := countingUsers(0)
		for range 5 * triesPerAddress {
			<-time.After(remembered) // what was known is forgotten, and one failure too
			if status, _ := try(t, u, far, "ops", "x"); status != http.StatusUnauthorized {
				t.Fatal(status)
			}
			if status, _ := try(t, u, far, "ops", canary); status != http.StatusOK {
				t.Fatal(status)
			}
		}
		for range triesPerAddress - 2 {
			try(t, u, far, "ops", "x")
		}
		<-time.After(remembered)
		for i := range triesPerAddress - 1 {
			if status, _ := try(t, u, far, "ops", "x"); status != http.StatusUnauthorized {
				t.Fatalf("try %d: %d", i, status)
			}
		}
		if status, _ := try(t, u, far, "ops", canary); status != http.StatusOK {
			t.Fatal(status)
		}
		if status, _ := try(t, u, far, "ops", "x"); status != http.StatusUnauthorized {
			t.Errorf("the login that succeeded was counted: %d", status)
		}
	})
}

// TestWhoKnowsThePasswordIsNotSlowed: somebody who guesses behind the same proxy must
// not lock out a program that got in within the last hour.
func TestWhoKnowsThePasswordIsNotSlowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, _ := countingUsers(0)
		if status, _ := try(t, u, far, "ops", canary); status != http.StatusOK {
			t.Fatal(status)
		}
		<-time.After(2 * fresh)
		for range 100 {
			try(t, u, far, "ops", "x")
		}
		if status, _ := try(t, u, far, "ops", "y"); status != http.StatusTooManyRequests {
			t.Errorf("a guess: %d", status)
		}
		if status, _ := try(t, u, far, "ops", canary); status != http.StatusOK {
			t.Errorf("the program that knows: %d", status)
		}
		<-time.After(remembered)
		for range 100 {
			try(t, u, far, "ops", "x")
		}
		if status, _ := try(t, u, far, "ops", canary); status != http.StatusTooManyRequests {
			t.Errorf("after an hour it is as anybody: %d", status)
		}
	})
}

// TestTriesAtOneNameAreSlowed: from many addresses, for a name that exists and for one
// that does not alike.
func TestTriesAtOneNameAreSlowed(t *testing.T) {
	for _, name := range []string{"ops", "nobody"} {
		synctest.Test(t, func(t *testing.T) {
			u, _ := countingUsers(0)
			slowed := 0
			for i := range 100 {
				if status, _ := try(t, u, fmt.Sprintf("198.51.100.%d:1", i), name, "x"); status == http.StatusTooManyRequests {
					slowed++
				}
			}
			if slowed != 100-triesPerName {
				t.Errorf("%s: %d of 100 were slowed", name, slowed)
			}
		})
	}
}

// TestLimiterIsBounded: 10,000 names from 10,000 addresses cost no more memory than is
// meant for them, and those that tried most are not forgotten for those that tried once.
func TestLimiterIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, c := countingUsers(0)
		const bad = "203.0.113.66:1"
		for i := range triesPerAddress {
			try(t, u, bad, fmt.Sprintf("first%d", i), "x")
		}
		for i := range 10000 {
			remote := fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255)
			if status, _ := try(t, u, remote, fmt.Sprintf("name%d", i), "x"); status != http.StatusUnauthorized && i < 1000 {
				t.Fatalf("%s: %d", remote, status)
			}
		}
		if len(u.limiter.addresses) > maxAddresses || len(u.limiter.names) != 1 || len(u.limiter.strangers) != strangerBuckets {
			t.Errorf("%d addresses, %d names", len(u.limiter.addresses), len(u.limiter.names))
		}
		if status, _ := try(t, u, bad, "more", "x"); status != http.StatusTooManyRequests {
			t.Errorf("the one that tried most is forgotten: %d", status)
		}
		if status, _ := try(t, u, "203.0.113.9:1", "ops", canary); status != http.StatusOK {
			t.Errorf("the operator: %d", status)
		}
		if n := c.calls.Load(); n < 9000 {
			t.Errorf("%d hashes: names are slowed that were tried once", n)
		}
		<-time.After(time.Hour)
		try(t, u, far, "ops", "x")
		for i := range maxAddresses {
			try(t, u, fmt.Sprintf("10.9.%d.%d:1", i>>8, i&255), "ops", "x")
		}
		if len(u.limiter.addresses) > maxAddresses {
			t.Errorf("%d addresses", len(u.limiter.addresses))
		}
	})
}

func TestPrefixOf(t *testing.T) {
	for remote, want := range map[string]string{
		"198.51.100.7:1": "198.51.100.7/32", "[::ffff:198.51.100.7]:1": "198.51.100.7/32",
		"[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64", "@": "invalid Prefix",
	} {
		if got := prefixOf(remote).String(); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}

// TestARightGuessIsSlowedAsWrongOnesAre: that the user got in a moment ago from another
// address does not let whoever guesses find the password among answers of 429.
func TestARightGuessIsSlowedAsWrongOnesAre(t *testing.T) {
	const elsewhere = "198.51.100.7:1"
	synctest.Test(t, func(t *testing.T) {
		u, _ := countingUsers(0)
		if status, _ := try(t, u, far, "ops", canary); status != http.StatusOK {
			t.Fatal(status)
		}
		for range 2 * triesPerAddress {
			try(t, u, elsewhere, "ops", "x")
		}
		if status, _ := try(t, u, elsewhere, "ops", canary); status != http.StatusTooManyRequests {
			t.Errorf("the right guess: %d", status)
		}
		if status, _ := try(t, u, far, "ops", canary); status != http.StatusOK {
			t.Errorf("the user itself: %d", status)
		}
		for i := range 2 * maxFrom {
			<-time.After(time.Second)
			if status, _ := try(t, u, fmt.Sprintf("203.0.113.%d:1", i), "ops", canary); status != http.StatusOK {
				t.Fatalf("login %d: %d", i, status)
			}
		}
		if n := len(u.byName["ops"].from); n != maxFrom {
			t.Errorf("%d addresses are remembered, want %d", n, maxFrom)
		}
	})
}
