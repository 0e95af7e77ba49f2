package label

func ownWarningCodes() []Explanation {
	return []Explanation{
		{"W101", "", "Bad boolean or option", "The value is not one of true, false, 1, 0, yes, no, on, off, or not one of the words of the key.", "The default is used.",
			"Write true or false.", "sozune.http.web.stripPrefix=maybe -> sozune.http.web.stripPrefix=true"},
		{"W102", "", "Bad list entry", "An entry of a list of hosts or of addresses cannot be used: a scheme, a port or a path in it, a stray `*`, an invalid range.",
			"The entry is left out. With no host left the service is not routed (E002).",
			"Write hosts as app.example.com, *.example.com or *; addresses as 203.0.113.7 or 10.0.0.0/8.",
			"sozune.http.web.host=https://app.example.com:8080 -> sozune.http.web.host=app.example.com"},
		{"W103", "", "Names that differ only by case", "Two services, or two labels, differ only by the case of their letters.",
			"Services stay separate; of two labels the first in sorted order counts.", "Write the name in one case everywhere.",
			"sozune.http.Web.host and sozune.http.web.port -> sozune.http.web.host and sozune.http.web.port"},
		{"W109", "", "Bad backend scheme or TLS setting", "scheme is none of http, https and h2c, or a value of backendTLS cannot be used or needs scheme=https.",
			"The default is used: plain HTTP, and for TLS the backend's host and the system's CAs.",
			"Correct the value; a CA must be declared in the configuration.", "sozune.http.web.scheme=tls -> sozune.http.web.scheme=https"},
		{"W110", "", "Keys that exclude each other", "Two keys say contradictory things: several path keys, stripPrefix with addPrefix, weight with backup.",
			"One of them counts; the diagnostic says which.", "Keep one.", "path=/a with pathRegex=/b -> keep path=/a"},
		{"W111", "", "Replicas disagree", "Containers of one entrypoint have different options, or one asks for a protection that the owner does not have.",
			"The newest container of the owner's compose service decides; the others' options have no effect. A container that asks for a protection which the route does not have gets no traffic.",
			"Recreate the older containers, or use another service name.", "two containers with priority=1 and priority=2 -> one value on both"},
		{"W128", "", "Bad passive check", "A value of passive cannot be used.", "The default is used.",
			"Use a value in the range that the diagnostic names.", "sozune.http.web.passive.failures=-1 -> sozune.http.web.passive.failures=5"},
		{"W129", "", "Bad resilience key", "A value of dialTimeout, panic, dockerHealth or another key about failures cannot be used.", "The default is used.",
			"Use a value in the range that the diagnostic names.", "sozune.http.web.panic=never -> sozune.http.web.panic=off"},
		{"W130", "", "Client error counted as failure", "passive.status lists a status from 400 to 499.",
			"Anybody can eject a backend by sending requests that it rightly refuses.", "List statuses from 500 on.",
			"sozune.http.web.passive.status=404,503 -> sozune.http.web.passive.status=503"},
	}
}

func infoCodes() []Explanation {
	return []Explanation{
		{"I001", "", "Path defaulted", "The service has no path label, or its path was cut at `?` or `#`.", "Without a path the route takes the whole host.",
			"Nothing, or set path.", "sozune.http.web.path=/api?x=1 -> sozune.http.web.path=/api"},
		{"I002", "", "Port defaulted", "The service has no port label, and the image leaves a choice or says nothing.",
			"A usual port is used; the diagnostic says which and why.", "Set port to be independent of the image.", "EXPOSE 80 443 -> add sozune.http.web.port=80"},
		{"I103", "", "Verification off", "backendTLS.insecureSkipVerify is set.", "Any certificate of the backend is accepted: traffic to it can be read and changed on the way.",
			"Name the backend's CA with backendTLS.ca.", "sozune.http.web.backendTLS.insecureSkipVerify=true -> sozune.http.web.backendTLS.ca=internal"},
		{"I104", "", "Known, not in this version", "The key or value is right, but this version does not act on it yet.", "The label has no effect; a tcp or udp service is not routed.",
			"Nothing; it takes effect with a version that knows it.", "sozune.http.web.compress=true"},
		{"I105", "", "Name shared", "Containers use one service name with different hosts, paths or conditions, often in two compose projects.",
			"Each becomes an entrypoint of its own; the oldest claim keeps the plain id, others carry the project or a digest.",
			"Nothing, or use different service names.", "web in projects shop and blog -> http_web and http_web-blog"},
		{"I106", "", "Interval below the tick", "healthCheck.interval is shorter than the tick of the scheduler.", "Probes run at each tick.",
			"Use the tick (1 s) or more, or shorten it in the configuration.", "sozune.http.web.healthCheck.interval=200ms -> 1s"},
		{"I107", "", "Timeout longer than the interval", "healthCheck.timeout is longer than healthCheck.interval.", "Probes never overlap, so slow ones stretch the interval.",
			"Lower the timeout or raise the interval.", "interval=5s, timeout=10s -> timeout=5s"},
		{"I108", "", "Own container not found", "The router runs in a container but cannot tell which one it is.", "All networks are candidates; some may not be reachable.",
			"Set FAIRLEAD_CONTAINER_ID.", "FAIRLEAD_CONTAINER_ID=$(cat /etc/hostname)"},
		{"I109", "", "Plaintext probe on a TLS backend", "The backend is spoken to by https, but its probe does not speak TLS.",
			"The probe proves less than it could, and some servers log each one as a failed handshake.", "Set healthCheck.path.",
			"sozune.http.web.scheme=https alone -> add sozune.http.web.healthCheck.path=/health"},
	}
}
