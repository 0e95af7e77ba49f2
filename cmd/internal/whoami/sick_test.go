package whoami

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestStatusOfTraffic: / fails while /health is well, and a POST changes that.
func TestStatusOfTraffic(t *testing.T) {
	addr, _ := start(t, Config{Name: "one", Status: 503, Drain: time.Second})
	base := "http://" + addr
	if status, _ := call(t, "GET", base+"/", ""); status != 503 {
		t.Errorf("/: %d", status)
	}
	if status, _ := call(t, "GET", base+"/health", ""); status != 200 {
		t.Errorf("/health: %d", status)
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	if status, _ := call(t, "POST", base+"/status", "status=200", form...); status != 204 {
		t.Errorf("POST: %d", status)
	}
	if status, _ := call(t, "GET", base+"/", ""); status != 200 {
		t.Errorf("/ after it: %d", status)
	}
	for _, bad := range []string{"status=99", "status=x", ""} {
		if status, _ := call(t, "POST", base+"/status", bad, form...); status != 400 {
			t.Errorf("%q: %d", bad, status)
		}
	}
}

// TestGRPCHealth: the answers of grpc.health.v1 over HTTP/2 in the clear.
func TestGRPCHealth(t *testing.T) {
	sick := &Switch{}
	addr, _ := start(t, Config{Name: "one", Health: sick, Drain: time.Second})
	client := &http.Client{Transport: &http.Transport{Protocols: new(http.Protocols)}}
	if rt, ok := client.Transport.(*http.Transport); ok {
		rt.Protocols.SetUnencryptedHTTP2(true)
		defer rt.CloseIdleConnections()
	}
	ask := func(message string) (body []byte, status string) {
		frame := append([]byte{0, 0, 0, 0, byte(len(message))}, message...)
		res, err := client.Post("http://"+addr+"/grpc.health.v1.Health/Check", "application/grpc", strings.NewReader(string(frame)))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		if body, err = io.ReadAll(res.Body); err != nil {
			t.Fatal(err)
		}
		return body, res.Trailer.Get("Grpc-Status")
	}
	if body, status := ask(""); status != "0" || string(body) != "\x00\x00\x00\x00\x02\x08\x01" {
		t.Errorf("serving: %s %v", status, body)
	}
	sick.SetIll(true)
	if body, status := ask("\x0a\x06whoami"); status != "0" || string(body) != "\x00\x00\x00\x00\x02\x08\x02" {
		t.Errorf("not serving: %s %v", status, body)
	}
	if _, status := ask("\x0a\x05other"); status != "5" {
		t.Errorf("an unknown service: %s", status)
	}
}

// TestCertificates: the validity that was asked for.
func TestCertificates(t *testing.T) {
	for kind, expired := range map[string]bool{certValid: false, certExpired: true} {
		addr, _ := start(t, Config{Name: "one", Certificate: kind, Drain: time.Second})
		conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		cert := conn.ConnectionState().PeerCertificates[0]
		if time.Now().After(cert.NotAfter) != expired || cert.VerifyHostname("one") != nil {
			t.Errorf("%s: until %v for %v", kind, cert.NotAfter, cert.DNSNames)
		}
		_ = conn.Close()
	}
	if _, err := serverTLS("odd", "one", time.Now()); err == nil {
		t.Error("an odd kind is taken")
	}
}
