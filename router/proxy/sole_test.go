package proxy

import (
	"net/netip"
	"strings"
	"testing"
)

func TestOnlyTheGatewayAsClient(t *testing.T) {
	for _, tt := range []struct {
		name    string
		clients []string
		times   int
		told    bool
	}{
		{"gateway", []string{"172.18.0.1"}, enoughClients, true},
		{"gateway of IPv6", []string{"fd00:1::1"}, enoughClients, true},
		{"too few", []string{"172.18.0.1"}, enoughClients - 1, false},
		{"a second client", []string{"172.18.0.1", "172.18.0.9"}, enoughClients, false},
		{"one person", []string{"192.168.1.20"}, enoughClients, false},
		{"this machine", []string{"127.0.0.1"}, enoughClients, false},
		{"a public address", []string{"203.0.113.1"}, enoughClients, false},
	} {
		p := New(Config{})
		for range tt.times {
			for _, c := range tt.clients {
				p.sole.note(netip.MustParseAddr(c))
			}
		}
		got := p.Notices()
		if (len(got) == 1) != tt.told || tt.told && (got[0].Code != "I110" || !strings.Contains(got[0].Message, tt.clients[0])) {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
