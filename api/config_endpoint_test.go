package api

import (
	"net/http"
	"testing"
)

func TestConfiguration(t *testing.T) {
	where := "fairlead.yaml:3:5"
	h := newHouse(func(cfg *Config) {
		cfg.File = "fairlead.yaml"
		cfg.Settings = []Setting{
			{Key: "labels.prefix", Value: "sozune", Source: FromDefault},
			{Key: "proxy.timeouts.idle", Value: "1m15s", Source: FromDefault},
			{Key: "admin.hosts", Value: []string{}, Source: FromDefault},
			{Key: "admin.users", Value: []ConfiguredUser{{Name: "ops", Role: RoleAdmin, PasswordHash: "***"}}, Source: FromFile, Where: &where},
		}
	})
	w := h.from(far, "GET", "/config", "", basic("ops", canary)...)
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	golden(t, "config", w.Body.Bytes())
	if w := h.from(far, "GET", "/config", "", basic("watch", canary)...); w.Code != http.StatusForbidden {
		t.Errorf("a reader: %d", w.Code)
	}
	none := newHouse(func(cfg *Config) { cfg.Users = nil })
	if w := none.from(here, "GET", "/config", ""); w.Code != http.StatusForbidden {
		t.Errorf("without users: %d", w.Code)
	}
}
