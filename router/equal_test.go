package router

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// Every field counts: a field that equality forgets would never reach the table.
func TestEqualityKnowsEveryField(t *testing.T) {
	whole := func() *route.Entrypoint {
		e := entrypoint(t, "http_a", "a.example", prefix("/a"), methods("GET"), header("x", "1"), query("q", "1"), clients("10.0.0.0/8"), failClosed())
		e.Project = "p"
		e.Options.Headers = []route.HeaderRule{{Name: "X", Value: "v", Direction: route.OnBoth}}
		e.RetainedUntil = epoch
		e.Absent = []route.Absence{{CandidateID: "c", Name: "n", Why: route.AbsentPaused, Until: epoch}}
		e.Diagnostics = []route.Diagnostic{{Code: "I001", Severity: route.SeverityInfo}}
		e.Labels = []route.Origin{{Key: "host", Label: "sozune.http.x.host"}}
		b := backend(1)
		b.Container = &route.Container{ID: "c", CreatedAt: epoch, StartedAt: epoch}
		b.StartedAt = epoch
		b.Check.Headers = []route.CheckHeader{{Name: "A", Value: "v"}}
		e.Backends = []route.Backend{b}
		return e
	}
	if !equalEntrypoints(whole(), whole()) {
		t.Fatal("equal values differ")
	}
	n := 0
	for {
		e := whole()
		budget := n
		where := mutate(reflect.ValueOf(e).Elem(), "Entrypoint", &budget)
		if where == "" {
			break
		}
		if equalEntrypoints(whole(), e) {
			t.Errorf("a change of %s is not seen", where)
		}
		n++
	}
	if n < 80 {
		t.Errorf("only %d fields were changed", n)
	}
	for _, change := range []func(*route.Entrypoint){
		func(e *route.Entrypoint) { e.FailClosed = nil }, func(e *route.Entrypoint) { e.Backends = nil },
		func(e *route.Entrypoint) { e.Backends[0].Check = nil }, func(e *route.Entrypoint) { e.Backends[0].Container = nil },
	} {
		e := whole()
		change(e)
		if equalEntrypoints(whole(), e) || equalEntrypoints(e, whole()) {
			t.Error("a missing part is not seen")
		}
	}
}

// mutate changes the budget-th leaf of a value and names it; "" when there are fewer.
func mutate(v reflect.Value, name string, budget *int) string {
	if v.Type() == reflect.TypeFor[time.Time]() {
		return leaf(name, budget, func() { v.Set(reflect.ValueOf(v.Interface().(time.Time).Add(time.Second))) })
	}
	if v.Type() == reflect.TypeFor[route.StatusSet]() {
		set, _ := route.ParseStatusSet("200")
		return leaf(name, budget, func() { v.Set(reflect.ValueOf(set)) })
	}
	switch v.Kind() {
	case reflect.Struct:
		if !v.CanInterface() || strings.HasPrefix(v.Type().PkgPath(), "net/netip") {
			return leaf(name, budget, func() { v.SetZero() })
		}
		for i := range v.NumField() {
			if where := mutate(v.Field(i), name+"."+v.Type().Field(i).Name, budget); where != "" {
				return where
			}
		}
	case reflect.Slice:
		if where := leaf(name+"[+]", budget, func() { v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem()))) }); where != "" {
			return where
		}
		return mutate(v.Index(0), name+"[0]", budget)
	case reflect.Pointer:
		return mutate(v.Elem(), name, budget)
	case reflect.String:
		return leaf(name, budget, func() { v.SetString(v.String() + "x") })
	case reflect.Bool:
		return leaf(name, budget, func() { v.SetBool(!v.Bool()) })
	case reflect.Uint8, reflect.Uint16:
		return leaf(name, budget, func() { v.SetUint(v.Uint() + 1) })
	case reflect.Float64:
		return leaf(name, budget, func() { v.SetFloat(v.Float() + 1) })
	default:
		return leaf(name, budget, func() { v.SetInt(v.Int() + 1) })
	}
	return ""
}

func leaf(name string, budget *int, change func()) string {
	if *budget > 0 {
		*budget--
		return ""
	}
	change()
	return name
}
