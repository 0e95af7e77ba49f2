package label

import "time"

func containerKeys() []Key {
	return []Key{
		key("enable", boolean(), "false", "W101", "route this container").of(LevelContainer),
		key("network", text(255).accepting("the name of a Docker network"), "", "W009", "Docker network to reach the container by; also tried as <compose project>_<value>").of(LevelContainer),
	}
}

func httpKeys() []Key {
	return []Key{
		key("host", list("names, comma separated: exact, *.x, **.x, *, /regex/.x"), "", "W102", "hosts of the route; required").of(LevelMatcher).hideQuery(),
		key("path", path(), "/", "E109", "path prefix, ending at segment borders").of(LevelMatcher).hideQuery(),
		key("prefix", path(), "/", "E109", "another word for path").of(LevelMatcher).hideQuery(),
		key("pathExact", path(), "", "E109", "the whole path").of(LevelMatcher).hideQuery(),
		key("pathRegex", regex(), "", "E109", "RE2 expression, anchored at both ends").of(LevelMatcher),
		key("methods", list("HTTP methods, comma separated"), "any", "W014", "methods of the route; others get 404").of(LevelMatcher),
		key("matchHeaders", list("k:v or k, comma separated"), "", "E109", "headers that a request must have").of(LevelMatcher).secret(),
		key("matchQuery", list("k:v or k, comma separated"), "", "E109", "query parameters that a request must have").of(LevelMatcher).secret(),
		key("matchClientIP", list("IP addresses or CIDR ranges, comma separated"), "", "E112", "clients that the route applies to").of(LevelMatcher),
		key("priority", integer(-1<<31, 1<<31-1), "0", "W002", "higher wins among routes that match"),
		key("stripPrefix", boolean(), "false", "W101", "remove the matched prefix before forwarding"),
		key("addPrefix", path(), "", "W101", "put a prefix in front of the path before forwarding").hideQuery(),
		key("headers.<Name>", text(maxHeaderValue), "", "W008", "set a request header; empty deletes it").secret(),
		key("headers.response.<Name>", text(maxHeaderValue), "", "W008", "set a response header; empty deletes it").secret(),
		key("headers.both.<Name>", text(maxHeaderValue), "", "W008", "set a header on request and response; empty deletes it").secret(),
		key("tls", boolean(), "false", "W101", "serve the route on HTTPS too").later(),
		key("httpsRedirect", boolean(), "false", "W101", "redirect HTTP to HTTPS").later(),
		key("httpsRedirectPort", integer(1, 65535), "443", "W001", "port in the HTTPS redirect").later(),
		key("redirect", choice("forward", "permanent", "unauthorized"), "forward", "W005", "answer without a backend").later(),
		key("redirectScheme", choice("use_same", "use_http", "use_https"), "use_same", "W006", "scheme of the redirect").later(),
		key("redirectTemplate", text(maxText), "", "W005", "text of the redirect's location").later().hideQuery(),
		key("compress", boolean(), "false", "W101", "compress responses").later(),
		key("errorPages.<code>", text(maxPage).accepting("the body for a status from 400 to 599"), "", "W020", "body of an error answer").later(),
		key("maxBodyBytes", integer(1, 1<<50), "", "W129", "largest request body").later(),
		key("plugins", list("names, comma separated"), "", "W026", "http-wasm plugins").later().secret(),
		key("plugins.<name>.<key>", text(maxText), "", "W026", "setting of a plugin").later().secret(),
	}
}

func backendHTTPKeys() []Key {
	return []Key{
		key("port", integer(1, 65535), "", "W001", "port of the backend").of(LevelBackend),
		key("scheme", choice("http", "https", "h2c"), "http", "W109", "protocol spoken to the backend").of(LevelBackend),
		key("backendTLS.serverName", text(253).accepting("a DNS name"), "", "W109", "name in the TLS handshake with the backend; its host by default").of(LevelBackend),
		key("backendTLS.insecureSkipVerify", boolean(), "false", "W109", "accept any certificate of the backend").of(LevelBackend),
		key("backendTLS.ca", text(255).accepting("the name of a CA in the configuration"), "", "W109", "name of a CA in the configuration; the system's by default").of(LevelBackend),
		key("backendTLS.clientCert", text(255).accepting("the name of a client certificate in the configuration"), "", "W109", "name of a client certificate in the configuration (certificates.clients) that backend and probe are shown").of(LevelBackend),
		key("dialTimeout", span(time.Millisecond, time.Millisecond, 5*time.Minute), "2s", "W129", "one contact with a backend").of(LevelBackend).likelyFrom(50 * time.Millisecond),
		key("weight", integer(0, 65535), "100", "W027", "share of the traffic; 0 is a backup").of(LevelBackend),
		key("backup", boolean(), "false", "W027", "weight 0 by another name").of(LevelBackend),
		key("dockerHealth", choice("prefer", "require", "report", "ignore"), "prefer", "W129", "how Docker's HEALTHCHECK is honoured").of(LevelBackend),
		key("maxConnections", integer(1, 1<<20), "", "W129", "requests that a backend takes at once").of(LevelBackend),
		key("slowStart", span(time.Millisecond, 0, time.Hour), "0", "W129", "time over which a recovered backend gets its full share").of(LevelBackend).likelyFrom(time.Second),
		key("slowStart.min", integer(1, 100), "10", "W129", "percent of the share at its beginning").of(LevelBackend),
		key("loadBalancer", loadBalancers(), "round_robin", "W022", "how a backend is picked; all honour weights"),
		key("loadBalancer.hashOn", text(255), "", "W022", "what hrw hashes: header:<Name> or cookie:<name>").later(),
		key("backendTimeout", span(time.Second, 0, 24*time.Hour), "30s", "W003", "from sending to the response headers; 0 is none").likelyTo(time.Hour),
		key("stickySession", boolean(), "false", "W101", "keep a client on one backend by a cookie"),
		key("stickySession.cookie", cookieName(), "", "W101", "name of that cookie; fl_ and 8 hexadecimal digits by default"),
		key("stickySession.secure", boolean(), "false", "W101", "Secure attribute of that cookie always; otherwise when the request came by TLS"),
		key("stickySession.sameSite", choice("lax", "strict", "none"), "lax", "W101", "SameSite attribute of that cookie"),
		key("stickySession.maxAge", span(time.Second, 0, 10*365*24*time.Hour), "0", "W101", "life of that cookie; 0 ends with the browser").likelyTo(400 * 24 * time.Hour),
	}
}

func protectionKeys() []Key {
	return []Key{
		key("auth.basic", list("user:hash, comma separated"), "", "W007", "users of HTTP basic authentication").protects().secret(),
		key("auth.basicFile", text(255).accepting("the name of a secret file in the configuration"), "", "E104", "name of a secret file with users, declared in the configuration").protects(),
		key("wwwAuthenticate", text(255), "", "W007", "realm of the authentication").later(),
		key("forwardAuth.address", webAddress(), "", "W019", "URL that decides about each request").protects().hideQuery(),
		key("forwardAuth.responseHeaders", list("header names, comma separated"), "", "W019", "headers of its answer that are copied to the request").protects(),
		key("forwardAuth.trustForwardHeader", boolean(), "false", "W019", "pass the client's X-Forwarded headers on to it").protects(),
		key("ratelimit.average", integer(1, 1<<31-1), "", "W004", "requests per second and client").protects(),
		key("ratelimit.burst", integer(1, 1<<31-1), "", "W004", "requests at once; average by default").protects(),
		key("inFlightReq", integer(1, 1<<31-1), "", "W025", "requests in flight per client").protects(),
		key("ipAllowList", list("IP addresses or CIDR ranges, comma separated"), "", "E104", "clients that may use the route; others get 403").protects(),
	}
}
