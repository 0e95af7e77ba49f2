package compose

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead/router/route"
)

const domainLabels = `    labels: {sozune.enable: "true", sozune.http.web.port: "80", sozune.http.web.host: "web.${DOMAIN}"}
`

// TestEnvFilesAreRead: the .env file beside the compose file, the files of
// COMPOSE_ENV_FILES instead of it, and the environment above both.
func TestEnvFilesAreRead(t *testing.T) {
	const file = "services:\n  web:\n    image: x\n" + domainLabels
	folder := folderOf(t, map[string]string{
		"compose.yaml": file, "sub/compose.yaml": file, "bare/compose.yaml": file,
		".env": "# a comment\nDOMAIN=env.example\n", "sub/.env": "BASE=sub.example\nDOMAIN=\"${BASE}\"\n",
		"a.env": "DOMAIN=a.example\n", "b.env": "DOMAIN=b.example\n", "bare/.env/x": "",
	})
	for _, tt := range []struct {
		name, file, env, host string
	}{
		{"beside the file", "compose.yaml", "", "web.env.example"},
		{"beside its own file only", "sub/compose.yaml", "", "web.sub.example"},
		{"below the environment", "compose.yaml", "DOMAIN=os.example", "web.os.example"},
		{"an empty value of the environment counts", "compose.yaml", "DOMAIN=", ""},
		{"other files instead", "compose.yaml", "COMPOSE_ENV_FILES=" + filepath.Join(folder, "a.env") + "," + filepath.Join(folder, "b.env"), "web.b.example"},
		{"switched off", "compose.yaml", "COMPOSE_DISABLE_ENV_FILE=1", ""},
		{"a folder of that name", "bare/compose.yaml", "", ""},
	} {
		s, err := collect(t, folder, []string{tt.env}, tt.file)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := strings.Join(hosts(s), " "); tt.host != "" && got != tt.host || tt.host == "" && strings.Contains(got, "example") {
			t.Errorf("%s: hosts %q, want %q", tt.name, got, tt.host)
		}
		unset := tt.env == "COMPOSE_DISABLE_ENV_FILE=1" || strings.HasPrefix(tt.file, "bare")
		if (len(s.Global) > 0) != unset {
			t.Errorf("%s: %v", tt.name, s.Global)
		}
	}
}

// TestEnvFileThatCannotBeRead names the file and the line, and not what stands there.
func TestEnvFileThatCannotBeRead(t *testing.T) {
	const canary = "s3cretCANARY"
	for name, text := range map[string]string{
		"an open quote":           "A=1\nPASSWORD=\"" + canary + "\n",
		"a strange name":          "A=1\nPASS*" + canary + "=x\n",
		"a space in a name":       "A=1\n" + canary + " word=x\n",
		"a variable without end":  "A=1\nPASSWORD=" + canary + "${\n",
		"a variable that must be": "A=1\nPASSWORD=${NOPE:?" + canary + "}\n",
		"no name":                 "A=1\n" + canary + "!\n",
	} {
		folder := folderOf(t, map[string]string{"compose.yaml": "services: {web: {image: x}}\n", ".env": text})
		_, err := collect(t, folder, nil, "compose.yaml")
		if err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), ".env") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && !strings.Contains(name, "variable") && !strings.Contains(err.Error(), "line 2") && !strings.Contains(err.Error(), "line 3: a quote, here or above") {
			t.Errorf("%s: no line in %v", name, err)
		}
	}
	folder := folderOf(t, map[string]string{"compose.yaml": "services: {web: {image: x}}\n"})
	_, err := collect(t, folder, []string{"COMPOSE_ENV_FILES=" + filepath.Join(folder, "none.env")}, "compose.yaml")
	if err == nil || !strings.Contains(err.Error(), "none.env") {
		t.Errorf("a file of COMPOSE_ENV_FILES that is missing: %v", err)
	}
}

// TestVariablesAreJudgedWhereTheyStand: a default elsewhere in a file is none here, and
// an included, extended or label file counts as much as the one that was named.
func TestVariablesAreJudgedWhereTheyStand(t *testing.T) {
	const base, web = "services:\n  base:\n    image: x\n" + domainLabels, "services:\n  web:\n    image: x\n" + domainLabels
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string // a part of the finding, "" for none
	}{
		{"a default of another key", map[string]string{"compose.yaml": web + "    environment: {D: \"${DOMAIN:-localhost}\"}\n"}, "DOMAIN"},
		{"a default of another label", map[string]string{"compose.yaml": strings.Replace(web, "{", "{a: \"${DOMAIN:-x}\", ", 1)}, "DOMAIN"},
		{"a default here", map[string]string{"compose.yaml": strings.Replace(web, "${DOMAIN}", "${DOMAIN:-x}${DOMAIN-}", 1)}, ""},
		{"a default that lacks a value itself", map[string]string{"compose.yaml": strings.Replace(web, "${DOMAIN}", "${A:-x${DOMAIN}}", 1)}, "DOMAIN"},
		{"behind a default", map[string]string{"compose.yaml": strings.Replace(web, "${DOMAIN}", "${A:-x}.${DOMAIN}", 1)}, "DOMAIN"},
		{"only if another one is set", map[string]string{"compose.yaml": strings.Replace(web, "${DOMAIN}", "${A:+${DOMAIN}}x", 1)}, ""},
		{"a dollar that is meant", map[string]string{"compose.yaml": strings.Replace(web, "${DOMAIN}", "$${DOMAIN}", 1)}, ""},
		{"another key", map[string]string{"compose.yaml": "services:\n  web: {image: x, environment: {D: \"${DOMAIN}\"}}\n"}, ""},
		{"a list", map[string]string{"compose.yaml": "services:\n  web:\n    image: x\n    labels:\n      - sozune.http.web.host=web.${DOMAIN}\n"}, "DOMAIN"},
		{"the labels of a build", map[string]string{"compose.yaml": "services:\n  web:\n    build: {context: ., labels: {sozune.http.web.host: \"web.${DOMAIN}\"}}\n"}, "DOMAIN"},
		{"an anchor", map[string]string{"compose.yaml": "x-l: &l {sozune.http.web.host: \"web.${DOMAIN}\"}\nservices:\n  web: {image: x, labels: *l}\n"}, "DOMAIN"},
		{"an included file", map[string]string{"compose.yaml": "include: [part.yaml]\n", "part.yaml": web}, "DOMAIN"},
		{"an included file with an .env of its own", map[string]string{"compose.yaml": "include: [sub/part.yaml]\n", "sub/part.yaml": web, "sub/.env": "DOMAIN=x\n"}, ""},
		{"an extended file", map[string]string{"compose.yaml": "services: {web: {extends: {file: base.yaml, service: base}}}\n", "base.yaml": base}, "DOMAIN"},
		{"a label file", map[string]string{
			"compose.yaml": "services: {web: {image: x, label_file: web.labels}}\n", ".env": "DOMAIN=x\n",
			"web.labels": "sozune.enable=true\nsozune.http.web.port=80\nsozune.http.web.host=web.${DOMAIN}\n",
		}, "label file"},
		{"a label file that is complete", map[string]string{
			"compose.yaml": "services: {web: {image: x, label_file: web.labels}}\n",
			"web.labels":   "# ${NOPE}\nd=x\na='$x'\nb=\"\\$x\"\nc=$$x # $x\nsozune.http.web.host=web.${d}${e:-x}\n",
		}, ""},
	} {
		s := judge(t, nil, tt.files)
		s.Global = slices.DeleteFunc(s.Global, func(d route.Diagnostic) bool { return d.Code != "W133" })
		if len(s.Global) > 1 || (len(s.Global) == 1) != (tt.want != "") || !strings.Contains(fmt.Sprint(s.Global), tt.want) {
			t.Errorf("%s: %+v", tt.name, s.Global)
		}
	}
}
