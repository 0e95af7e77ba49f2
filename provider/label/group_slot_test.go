package label

import (
	"testing"
	"time"
)

func TestOfAReplicasStoppedGenerationsTheLastOneIsListed(t *testing.T) {
	b, soon := newBench(t), epoch.Add(time.Minute)
	b.run("c1", "p", "web", map[string]string{number: "1"}, until(soon))
	b.run("c2", "p", "web", map[string]string{number: "1"}, age(time.Hour), until(soon.Add(time.Minute)))
	b.run("c3", "", "", nil, named("x"), until(soon))
	b.run("c4", "", "", nil, named("x"), age(time.Hour), until(soon.Add(time.Minute)))
	if got, want := summary(b.group(nil)), "http_web: -c2=retained -c4=retained until 12:02"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
