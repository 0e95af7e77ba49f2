package api

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// openapi answers GET /openapi.json, made from the table of endpoints and the types of
// the answers.
func (s *Server) openapi(*http.Request) (reply, *Error) {
	return reply{body: s.contract()}, nil
}

// contract is the OpenAPI 3.1 document.
func (s *Server) contract() map[string]any {
	known, types, paths := operations(), shapes{}, schema{}
	frames := []schema{
		types.of(reflect.TypeFor[EventHello]()), types.of(reflect.TypeFor[EventTransition]()), types.of(reflect.TypeFor[EventTable]()),
		types.of(reflect.TypeFor[EventProvider]()), types.of(reflect.TypeFor[EventGap]()),
	}
	types.of(reflect.TypeFor[Error]())
	for i := range s.routes {
		e, methods := &s.routes[i], schema{}
		for _, method := range e.verbs() {
			if o, ok := known[method+" "+e.path]; ok {
				methods[strings.ToLower(method)] = e.describe(o, method, types)
			}
		}
		if parameters := pathParameters(e.path); parameters != nil {
			methods["parameters"] = parameters
		}
		paths[e.path] = methods
	}
	types["Event"] = schema{"oneOf": frames}
	return map[string]any{
		"openapi": "3.1.0",
		"info": schema{
			"title": "Fairlead admin API", "version": s.cfg.Version,
			"description": "Times are epoch seconds unless the name ends in _ms, durations are milliseconds. null is what is not known. " +
				"HEAD answers as GET does, without a body. Further fields may come; words may be new ones.",
		},
		"paths": paths,
		"components": schema{
			"schemas": types,
			"securitySchemes": schema{
				"basic":   schema{"type": "http", "scheme": "basic"},
				"session": schema{"type": "apiKey", "in": "cookie", "name": cookieName},
			},
		},
		"security": []schema{{"basic": []string{}}, {"session": []string{}}, {}},
	}
}

// verbs are the methods of an endpoint that are described.
func (e *endpoint) verbs() []string {
	var list []string
	for m := range strings.SplitSeq(e.methods(), ", ") {
		if m != http.MethodHead {
			list = append(list, m)
		}
	}
	return list
}

// describe makes an OpenAPI operation.
func (e *endpoint) describe(o operation, method string, types shapes) schema {
	responses := schema{}
	for status, t := range o.answers {
		responses[strconv.Itoa(status)] = response(status, t, types)
	}
	refuses := slices.Clone(o.refuses)
	if !e.open {
		refuses = append(refuses, http.StatusForbidden)
	}
	if !e.open && e.path != "/login" && e.path != "/logout" {
		refuses = append(refuses, http.StatusUnauthorized, http.StatusTooManyRequests)
	}
	if strings.Contains(e.path, "{") {
		refuses = append(refuses, http.StatusNotFound)
	}
	for _, status := range refuses {
		responses[strconv.Itoa(status)] = response(status, reflect.TypeFor[Error](), types)
	}
	out := schema{"summary": e.does, "operationId": operationID(method, e.path), "responses": responses}
	if o.about != "" {
		out["description"] = o.about
	}
	if e.need == RoleAdmin {
		out["x-role"] = string(RoleAdmin)
	}
	if e.open {
		out["security"] = []schema{}
	}
	if o.body != nil {
		content := schema{"application/json": schema{"schema": types.of(o.body)}}
		if o.form {
			content["application/x-www-form-urlencoded"] = schema{"schema": types.of(o.body)}
		}
		out["requestBody"] = schema{"required": o.form, "content": content}
	}
	if parameters := queryParameters(o.query); parameters != nil {
		out["parameters"] = parameters
	}
	return out
}

func response(status int, t reflect.Type, types shapes) schema {
	out := schema{"description": http.StatusText(status)}
	if t != nil {
		out["content"] = schema{"application/json": schema{"schema": types.of(t)}}
	}
	return out
}

func queryParameters(list []parameter) []schema {
	var out []schema
	for _, p := range list {
		kind := schema{"type": p.kind}
		if p.repeated {
			kind = schema{"type": "array", "items": kind}
		}
		one := schema{"name": p.name, "in": "query", "schema": kind}
		about := p.about
		if p.one != nil {
			about = strings.Trim(strings.Join(p.one, ", ")+"; "+about, "; ")
		}
		if about != "" {
			one["description"] = about
		}
		out = append(out, one)
	}
	return out
}

// pathParameters are the segments in braces.
func pathParameters(path string) []schema {
	var out []schema
	for segment := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			out = append(out, schema{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": schema{"type": "string"}})
		}
	}
	return out
}

// operationID is getEntrypointsIdBackends for GET /entrypoints/{id}/backends.
func operationID(method, path string) string {
	var id strings.Builder
	id.WriteString(strings.ToLower(method))
	for _, word := range strings.FieldsFunc(path, func(c rune) bool { return strings.ContainsRune("/{}.", c) }) {
		id.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	if path == "/" {
		id.WriteString("Index")
	}
	return id.String()
}
