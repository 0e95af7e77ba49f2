package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead/api"
)

func TestSettingsSayWhereTheyCameFrom(t *testing.T) {
	file := write(t, "sticky: {key: c4nary-c4nary-c4nary}\nnotify: {webhook: {url: \"https://h/c4nary\"}}\nadmin:\n  verbose: true\n  users: [{name: ops, role: admin, passwordHash: \""+hash+"\"}]\nproxy: {http: {listen: \":1\"}, timeouts: {idle: 90000}}\n")
	l := load(t, Source{
		Path: file, Flags: map[string]Flag{"proxy.http.listen": {Name: "--http", Value: "127.0.0.1:2"}},
		Env: []string{"FAIRLEAD_LOG_LEVEL=debug", "DOCKER_HOST=tcp://ops:c4nary@engine:2375", "FAIRLEAD_PROXY_TRUSTEDPROXIES=10.0.0.0/8"},
	})
	settings := l.Settings()
	for _, c := range []struct{ key, value, source, where string }{
		{"sticky.key", `"***"`, api.FromFile, file + ":1:10"},
		{"notify.webhook.url", `"***"`, api.FromFile, file + ":2:20"},
		{"notify.webhook.secret", `""`, api.FromDefault, ""},
		{"certificates.clients", `{}`, api.FromDefault, ""},
		{"admin.verbose", `true`, api.FromFile, file + ":4:3"},
		{"admin.users", `[{"name":"ops","role":"admin","password_hash":"***"}]`, api.FromFile, file + ":5:3"},
		{"admin.hosts", `[]`, api.FromDefault, ""},
		{"proxy.http.listen", `"127.0.0.1:2"`, api.FromFlag, "--http"},
		{"proxy.timeouts.idle", `"1m30s"`, api.FromFile, file + ":6:42"},
		{"proxy.trustedProxies", `["10.0.0.0/8"]`, api.FromEnvironment, "FAIRLEAD_PROXY_TRUSTEDPROXIES"},
		{"log.level", `"debug"`, api.FromEnvironment, "FAIRLEAD_LOG_LEVEL"},
		{"log.levels", `{}`, api.FromDefault, ""},
		{"providers.docker.endpoint", `"tcp://***@engine:2375"`, api.FromEnvironment, "DOCKER_HOST"},
		{"providers.docker.retainSeconds", `60`, api.FromDefault, ""},
	} {
		i := slices.IndexFunc(settings, func(s api.Setting) bool { return s.Key == c.key })
		if i < 0 {
			t.Errorf("%s is not there", c.key)
			continue
		}
		s, where := settings[i], ""
		value, _ := json.Marshal(s.Value)
		if s.Where != nil {
			where = *s.Where
		}
		if string(value) != c.value || s.Source != c.source || where != c.where {
			t.Errorf("%s: %s %s %s, want %s %s %s", c.key, value, s.Source, where, c.value, c.source, c.where)
		}
	}
	if len(settings) != len(Keys()) {
		t.Errorf("%d settings of %d", len(settings), len(Keys()))
	}
	all, err := json.Marshal(settings)
	if text := string(all) + fmt.Sprintf("%+v", settings); err != nil || strings.Contains(text, "c4nary") || strings.Contains(text, hash) {
		t.Errorf("a secret shows: %s %v", text, err)
	}
}
