package healthcheck

import (
	"hash/maphash"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// changed returns checks that differ from one in one field each, by the field's name.
func changed(t *testing.T, c route.Check) map[string]route.Check {
	t.Helper()
	out := map[string]route.Check{}
	var walk func(name string, field func(*route.Check) reflect.Value)
	walk = func(name string, field func(*route.Check) reflect.Value) {
		next := c
		v := field(&next)
		switch value := v.Interface().(type) {
		case route.StatusSet:
			set, err := route.ParseStatusSet("204")
			if err != nil {
				t.Fatal(err)
			}
			v.Set(reflect.ValueOf(set))
		case []route.CheckHeader:
			v.Set(reflect.ValueOf(append(slices.Clone(value), route.CheckHeader{Name: "X-Other", Value: "x"})))
		case route.Scheme:
			v.SetString(string(route.SchemeHTTPS))
			if value == route.SchemeHTTPS {
				v.SetString(string(route.SchemeHTTP))
			}
		case route.BackendTLS:
			for i := range v.NumField() {
				walk("TLS."+v.Type().Field(i).Name, func(c *route.Check) reflect.Value { return field(c).Field(i) })
			}
			return
		default:
			switch v.Kind() {
			case reflect.String:
				v.SetString(v.String() + "x")
			case reflect.Bool:
				v.SetBool(!v.Bool())
			case reflect.Int, reflect.Int64:
				v.SetInt(v.Int() + int64(time.Second))
			case reflect.Uint16:
				v.SetUint(v.Uint() + 1)
			default:
				t.Fatalf("%s is a %s: teach this test to change it", name, v.Kind())
			}
		}
		out[name] = next
	}
	for i := range reflect.TypeFor[route.Check]().NumField() {
		walk(reflect.TypeFor[route.Check]().Field(i).Name, func(c *route.Check) reflect.Value { return reflect.ValueOf(c).Elem().Field(i) })
	}
	return out
}

// TestEveryFieldIsJudged: for each type of probe, each field of a check either makes
// another check or is one that the probe has no use for. A new field must be decided.
func TestEveryFieldIsJudged(t *testing.T) {
	placement := "UnhealthyThreshold HealthyThreshold Initial"
	secure := "SNI TLS.ServerName TLS.InsecureSkipVerify TLS.CA TLS.ClientCert"
	body := "FollowRedirects BodyContains BodyRegex Status Method"
	for _, tt := range []struct {
		kind    route.ProbeType
		scheme  route.Scheme
		useless string // without a part in the identity
	}{
		{route.ProbeTCP, "", strings.Join([]string{secure, body, "Scheme Path Host Headers GRPCService"}, " ")},
		{route.ProbeTLS, "", body + " Scheme Path Headers GRPCService Host"},
		{route.ProbeHTTP, route.SchemeHTTPS, "GRPCService"},
		{route.ProbeHTTP, route.SchemeHTTP, secure + " GRPCService"},
		{route.ProbeGRPC, route.SchemeHTTPS, body + " Path"},
		{route.ProbeGRPC, route.SchemeHTTP, body + " Path " + secure},
		{route.ProbeWebSocket, route.SchemeHTTPS, body + " GRPCService"},
		{route.ProbeWebSocket, route.SchemeHTTP, body + " GRPCService " + secure},
	} {
		seed := maphash.MakeSeed()
		b := &route.Backend{Host: "10.0.0.1", Port: 80, Incarnation: "i"}
		c := route.DefaultCheck()
		c.Type, c.Scheme, c.Port, c.Path, c.Host, c.SNI = tt.kind, tt.scheme, 80, "/x", "app.test", "sni.test"
		c.TLS.ServerName = "tls.test"
		base := keyOf(seed, &c, b)
		useless := strings.Fields(placement + " " + tt.useless)
		for name, next := range changed(t, c) {
			if same := keyOf(seed, &next, b) == base; same != slices.Contains(useless, name) {
				t.Errorf("%s %s: a change of %s makes the same check: %v", tt.kind, tt.scheme, name, same)
			}
		}
	}
}

// TestNameOnTLSIsJudged: a Host that names the backend on TLS is part of a check that
// sends no Host.
func TestNameOnTLSIsJudged(t *testing.T) {
	seed := maphash.MakeSeed()
	b := &route.Backend{Host: "10.0.0.1", Port: 443}
	c := normalized(route.Check{Type: route.ProbeTLS}, b)
	base := keyOf(seed, &c, b)
	if c.Host = "app.test"; keyOf(seed, &c, b) == base {
		t.Error("the name that is verified makes no other check")
	}
}
