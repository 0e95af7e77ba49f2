package api

import (
	"maps"
	"reflect"

	"fairlead/router"
	"fairlead/router/route"
)

// operation is what the contract says of one method of a path, beside what follows
// from the table of endpoints: errors of the guards, and of parameters in the path.
type operation struct {
	query []parameter
	// body is a request body in JSON; nil for none.
	body reflect.Type
	// form: the body may be a form, too.
	form bool
	// answers are the types by status; nil for an answer without a body.
	answers map[int]reflect.Type
	// refuses are statuses with an Error.
	refuses []int
	about   string
}

// parameter is one of the query.
type parameter struct {
	name, kind, about string
	repeated          bool
	one               []string // the permitted words
}

func answering[T any](query ...parameter) operation {
	o := operation{query: query, answers: map[int]reflect.Type{200: reflect.TypeFor[T]()}}
	if len(query) > 0 {
		o.refuses = []int{400}
	}
	return o
}

func text(name, about string) parameter { return parameter{name: name, kind: "string", about: about} }

// operations is the contract by method and path.
func operations() map[string]operation {
	ready := answering[Ready]()
	ready.answers[503] = reflect.TypeFor[Ready]()
	list := answering[[]Entrypoint](entrypointFilters()...)
	one := answering[Entrypoint]()
	list.answers[304], one.answers[304] = nil, nil
	all := map[string]operation{
		"GET /":                                answering[Index](),
		"GET /health":                          answering[Status](),
		"GET /healthy":                         answering[Status](),
		"GET /healthz":                         answering[Status](),
		"GET /ready":                           ready,
		"GET /me":                              answering[Me](),
		"GET /entrypoints":                     list,
		"GET /entrypoints/{id}":                one,
		"GET /entrypoints/{id}/backends":       answering[[]BackendHealth](),
		"GET /entrypoints/{id}/backends/{bid}": answering[BackendHealth](),
		"GET /entrypoints/{id}/backends/{bid}/history": answering[[]Transition](),
		"GET /entrypoints/{id}/traffic":                answering[TrafficSeries](),
		"GET /traffic":                                 answering[TrafficOverview](),
		"GET /resolve": answering[router.Resolution](
			text("url", "what is asked for; required"), text("method", "GET unless given"),
			parameter{name: "header", kind: "string", about: "a header, Name: value", repeated: true},
			text("client_ip", "the client's address")),
		"GET /checks":       answering[[]SharedCheck](),
		"GET /diagnostics":  answering[Diagnostics](),
		"GET /providers":    answering[Providers](),
		"GET /config":       answering[Configuration](),
		"GET /metrics":      {answers: map[int]reflect.Type{200: nil}, about: "Text for Prometheus; a listener of its own may have it instead."},
		"GET /openapi.json": {answers: map[int]reflect.Type{200: reflect.TypeFor[map[string]any]()}},
		"GET /events": {
			query:   []parameter{{name: "since", kind: "integer", about: "the rev of a frame: those behind it follow; 0 asks for all that are kept"}},
			answers: map[int]reflect.Type{101: nil}, refuses: []int{400, 426, 503},
			about: "A WebSocket. Each message is one of the schema Event.",
		},
		"GET /login": {
			query:   []parameter{text("next", "the path to come back to")},
			answers: map[int]reflect.Type{200: nil}, refuses: []int{404}, about: "The form, in HTML.",
		},
		"POST /login": {
			body: reflect.TypeFor[Credentials](), form: true, answers: map[int]reflect.Type{200: reflect.TypeFor[Me](), 303: nil},
			refuses: []int{400, 401, 404, 415, 429}, about: "Sets a session cookie. A form gets a redirect instead of JSON, and the form again when it is refused.",
		},
		"POST /logout": {answers: map[int]reflect.Type{204: nil, 303: nil}, about: "Ends the session; people are led to the form."},
	}
	maps.Copy(all, orderOperations())
	return all
}

// entrypointFilters are the parameters of GET /entrypoints.
func entrypointFilters() []parameter {
	return []parameter{
		text("q", "words that must all be found in names, hosts, paths and addresses"),
		{name: "state", kind: "string", about: "several are separated by commas, here as in source and protocol", one: words(
			route.EntrypointOK, route.EntrypointPartial, route.EntrypointPanic, route.EntrypointDown, route.EntrypointPending, route.EntrypointUnchecked)},
		text("source", "a provider's name"),
		{name: "protocol", kind: "string", one: words(route.HTTP, route.TCP, route.UDP)},
		{name: "tls", kind: "boolean"},
		{name: "limit", kind: "integer", about: "entrypoints on a page, 1 to 10000; Link leads to the next page. Without it all are sent"},
		text("after", "the id behind which the page begins"),
	}
}

func words[T ~string](list ...T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}
