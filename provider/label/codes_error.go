package label

// errorCodes are the errors that carry Sōzune's numbers.
func errorCodes() []Explanation {
	return []Explanation{
		{
			Code: "E001", Title: "Labels without enable",
			Cause:   "The container has labels for routes but not the label that enables it.",
			Effect:  "Nothing of it is routed. It is listed among the rejected containers.",
			Fix:     "Add enable=true, or start the router with exposeByDefault.",
			Example: "sozune.http.web.host=app.example.com alone -> add sozune.enable=true",
		},
		{
			Code: "E002", Title: "No host",
			Cause:   "The service has no host label, or none of its entries can be used. Often the service name is written differently in one label.",
			Effect:  "The service is not routed. Other services of the container are.",
			Fix:     "Add a host label, or correct the service name.",
			Example: "sozune.http.web.port=8080 alone -> add sozune.http.web.host=app.example.com",
		},
		{
			Code: "E003", Title: "Inspect failed",
			Cause:   "The engine did not answer when it was asked for the details of a container.",
			Effect:  "The container keeps what was known of it; one that was never read is not routed. It is asked again.",
			Fix:     "Check the engine's log, and that a socket proxy in between allows GET /containers/{id}/json.",
			Example: "a socket proxy that allows lists only -> allow CONTAINERS=1",
		},
		{
			Code: "E004", Title: "No service named",
			Cause:   "A label has a protocol and a key but no usable service name between them, or an enabled container names no service at all.",
			Effect:  "The label has no effect.",
			Fix:     "Write <prefix>.<protocol>.<service>.<key>. A service name is made of letters, digits and - _ @ + ~ :",
			Example: "sozune.http.host=app.example.com -> sozune.http.web.host=app.example.com",
		},
		{
			Code: "E005", Title: "No listener named",
			Cause:   "A tcp or udp service does not say on which listener it is offered.",
			Effect:  "The service is not routed.",
			Fix:     "Set entrypoint to the name of a listener in the configuration.",
			Example: "sozune.tcp.db.port=5432 alone -> add sozune.tcp.db.entrypoint=postgres",
		},
		{
			Code: "E006", Title: "No udp port",
			Cause:   "A udp service has no port label; udp has no default port.",
			Effect:  "The service is not routed.",
			Fix:     "Set port.",
			Example: "sozune.udp.dns.entrypoint=dns alone -> add sozune.udp.dns.port=53",
		},
	}
}

func ownErrorCodes() []Explanation {
	return []Explanation{
		{
			Code: "E104", Title: "Misspelt or invalid protection",
			Cause:   "A label that protects the route (auth.*, forwardAuth.*, ipAllowList) is misspelt, incomplete, or holds nothing valid.",
			Effect:  "The route answers 503 misconfigured_protection to the requests it would have served. It is never open by mistake.",
			Fix:     "Correct the label, or remove it if the route may be open.",
			Example: "sozune.http.web.auth.basci=... -> sozune.http.web.auth.basic=...",
		},
		{
			Code: "E105", Title: "No shared network",
			Cause:   "The router runs in a container, and none of its networks is one of the backend's.",
			Effect:  "The backend is not used.",
			Fix:     "Attach both to one network; the diagnostic lists the networks of each.",
			Example: "networks: [db] -> networks: [db, edge], with the router on edge",
		},
		{
			Code: "E106", Title: "Host network without a port",
			Cause:   "A container with network_mode: host has no port label. Its exposed ports say nothing there.",
			Effect:  "The backend is not used.",
			Fix:     "Set port.",
			Example: "network_mode: host -> add sozune.http.web.port=8123",
		},
		{
			Code: "E107", Title: "No usable address",
			Cause:   "The container has no address the router could reach: network_mode none, or only networks that are never used (ingress, docker_gwbridge).",
			Effect:  "The backend is not used. The router never falls back to its own loopback address.",
			Fix:     "Attach the container to a network it shares with the router.",
			Example: "network_mode: none -> networks: [edge]",
		},
		{
			Code: "E108", Title: "Ambiguous port",
			Cause:   "The image exposes several ports, none of them 80 or 8080, and no label chooses one.",
			Effect:  "This backend is not used. Other services of the container with a port label are.",
			Fix:     "Set port to one of the ports that the diagnostic names.",
			Example: "EXPOSE 3000 9090 -> add sozune.http.web.port=3000",
		},
		{
			Code: "E109", Title: "Bad path rule",
			Cause:   "The regular expression of pathRegex does not compile or is too long, or a path holds control characters.",
			Effect:  "The route is not served. It is never widened to the whole host instead.",
			Fix:     "Correct the expression; it is RE2 and anchored at both ends. In a compose file `$` is written `$$`.",
			Example: "sozune.http.web.pathRegex=/v[0-9+/.* -> sozune.http.web.pathRegex=/v[0-9]+/.*",
		},
		{
			Code: "E110", Title: "Undeclared listener",
			Cause:   "A tcp or udp service names a listener that the configuration does not declare.",
			Effect:  "The service is not routed.",
			Fix:     "Declare the listener in the configuration, or correct the name.",
			Example: "sozune.tcp.db.entrypoint=postgre -> sozune.tcp.db.entrypoint=postgres",
		},
		{
			Code: "E111", Title: "Host not allowed",
			Cause:   "The host lies outside the patterns that hosts.allow of the configuration grants to the compose project.",
			Effect:  "The host is refused.",
			Fix:     "Extend hosts.allow, or use a host that the project may claim.",
			Example: "sozune.http.web.host=bank.example.com in project blog -> blog.example.com",
		},
		{
			Code: "E112", Title: "Client match with nothing valid",
			Cause:   "matchClientIP holds no valid address or range, or is misspelt.",
			Effect:  "The route applies to nobody: requests go to the next route or get 404, so that no public route is taken down.",
			Fix:     "Write addresses or CIDR ranges.",
			Example: "sozune.http.web.matchClientIP=10.0.0 -> sozune.http.web.matchClientIP=10.0.0.0/8",
		},
		{
			Code: "E113", Title: "Protection not in this version",
			Cause:   "The label asks for a protection that this version cannot enforce yet.",
			Effect:  "The route answers 503 misconfigured_protection instead of standing open.",
			Fix:     "Use a version that knows the protection, or remove the label if the route may be open.",
			Example: "sozune.http.web.auth.basic=alice:$$2y$$05$$... -> protect the app itself until then",
		},
	}
}
