package label

import "time"

func streamKeys() []Key {
	return []Key{
		key("entrypoint", text(255).accepting("the name of a listener in the configuration"), "", "E005", "name of a listener in the configuration; required"),
		key("port", integer(1, 65535), "", "W001", "port of the backend; 8080 for tcp, required for udp").of(LevelBackend),
		key("priority", integer(-1<<31, 1<<31-1), "0", "W002", "higher wins among routes that match"),
		key("weight", integer(0, 65535), "100", "W027", "share of the traffic; 0 is a backup").of(LevelBackend),
		key("backup", boolean(), "false", "W027", "weight 0 by another name").of(LevelBackend),
		key("loadBalancer", streamBalancers(), "round_robin", "W022", "how a backend is picked"),
		key("ipAllowList", list("IP addresses or CIDR ranges, comma separated"), "", "E104", "clients that may connect").protects(),
		key("proxyProtocol", boolean(), "false", "W101", "send PROXY protocol v2 to the backend"),
		key("dockerHealth", choice("prefer", "require", "report", "ignore"), "prefer", "W129", "how Docker's HEALTHCHECK is honoured").of(LevelBackend),
	}
}

func tcpKeys() []Key {
	ms := time.Millisecond
	return []Key{
		key("sni", list("names, comma separated: exact, *.x, *"), "", "W102", "names in the client's TLS handshake").of(LevelMatcher),
		key("tls", choice("terminate", "passthrough"), "", "W101", "who ends TLS"),
		key("healthCheck", boolean(), "true", "W021", "probe the backends"),
		key("healthCheck.interval", span(ms, minInterval, maxInterval), "10s", "W021", "time between probes").likelyFrom(200 * ms),
		key("healthCheck.timeout", span(ms, 10*ms, 5*time.Minute), "5s", "W021", "whole probe").likelyFrom(100 * ms),
		key("healthCheck.port", integer(1, 65535), "", "W021", "port that is probed").of(LevelBackend),
		key("healthCheck.unhealthyThreshold", integer(1, 100), "1", "W021", "failed probes in a row that take a backend down"),
		key("healthCheck.healthyThreshold", integer(1, 100), "1", "W021", "passed probes in a row that bring it back"),
	}
}
