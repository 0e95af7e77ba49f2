package docker

import (
	"context"
	"errors"
	"strings"
	"testing"
)

const (
	ownID   = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	otherID = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// Lines of /proc/self/mountinfo in a container, on the host of containers, and in a
// machine made out of a container image.
const (
	mountsInside = "1 2 0:30 / / rw - overlay overlay rw\n" +
		"3 1 8:1 /var/lib/docker/containers/" + ownID + "/resolv.conf /etc/resolv.conf rw - ext4 /dev/sda1 rw\n" +
		"4 1 8:1 /var/lib/docker/containers/" + ownID + "/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n"
	mountsOnHost = "5 1 0:31 / /var/lib/docker/containers/" + otherID + "/mounts/shm rw - tmpfs shm rw\nshort\n"
	mountsPlain  = "3 1 8:1 /pods/x/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"
)

func TestFindingTheOwnContainer(t *testing.T) {
	engine := map[string]inspected{
		ownID:   {ID: ownID, Hostname: "web1", NetworkMode: "edge", Networks: nets("edge=10.0.0.9")},
		"web1":  {ID: ownID, Hostname: "web1", NetworkMode: "edge", Networks: nets("edge=10.0.0.9")},
		"host1": {ID: otherID, NetworkMode: "edge", Networks: nets("edge=10.0.0.8")},
		"hosty": {ID: ownID, NetworkMode: "host"},
		"vpn":   {ID: ownID, NetworkMode: "container:" + otherID},
		"stray": {ID: ownID, NetworkMode: "container:gone"},
		otherID: {ID: otherID, NetworkMode: "tun", Networks: nets("tun=10.0.7.7")},
	}
	inspect := func(_ context.Context, id string) (inspected, error) {
		if id == "forbidden" {
			return inspected{}, errDenied
		}
		if c, ok := engine[id]; ok {
			return c, nil
		}
		return inspected{}, errNotFound
	}
	for name, c := range map[string]struct {
		configured, mounts, hostname string
		marked                       bool
		want                         standpoint
		networks                     string
	}{
		"on the host":                          {mounts: mountsOnHost, hostname: "host1"},
		"marker without mounts is no sign":     {mounts: mountsOnHost, hostname: "host1", marked: true},
		"by mountinfo":                         {mounts: mountsInside, want: inContainer, networks: "edge"},
		"configured":                           {configured: "web1", want: inContainer, networks: "edge"},
		"configured wrongly, mountinfo helps":  {configured: "nope", mounts: mountsInside, want: inContainer, networks: "edge"},
		"by hostname":                          {mounts: mountsPlain, marked: true, hostname: "web1", want: inContainer, networks: "edge"},
		"hostname is another container's name": {mounts: mountsPlain, marked: true, hostname: "host1", want: unlocated},
		"not found by id":                      {mounts: strings.ReplaceAll(mountsInside, ownID, strings.Repeat("c", 64)), hostname: "x", want: unlocated},
		"inspect denied":                       {configured: "forbidden", want: unlocated},
		"host network counts as the host":      {configured: "hosty", want: onHost},
		"shares another one's network":         {configured: "vpn", want: inContainer, networks: "tun"},
		"shares the network of one that left":  {configured: "stray", want: inContainer, networks: "none"},
	} {
		t.Run(name, func(t *testing.T) {
			f := selfFinder{
				configured: c.configured,
				mountinfo:  func() string { return c.mounts },
				hostname:   func() string { return c.hostname },
				marked:     func() bool { return c.marked },
			}
			got, err := f.find(t.Context(), inspect)
			if err != nil {
				t.Fatal(err)
			}
			if got.where != c.want || c.networks != "" && nameList(got.networks) != c.networks {
				t.Errorf("found %+v, want standpoint %d on %s", got, c.want, c.networks)
			}
		})
	}
}

func TestLosingTheEngineWhileLookingForOneselfIsAnError(t *testing.T) {
	broken := errors.New("connection lost")
	calls := 0
	for _, failAt := range []int{1, 2} {
		calls = 0
		_, err := insideOf("vpn").find(t.Context(), func(context.Context, string) (inspected, error) {
			if calls++; calls == failAt {
				return inspected{}, broken
			}
			return inspected{ID: ownID, NetworkMode: "container:" + otherID}, nil
		})
		if !errors.Is(err, broken) {
			t.Errorf("failing at call %d gave %v", failAt, err)
		}
	}
}

func TestTheMachineItselfAnswers(t *testing.T) {
	f := systemSelf("x")
	if f.configured != "x" || f.hostname() == "" || !strings.Contains(f.mountinfo(), " / ") {
		t.Error("the machine has no hostname or no mounts")
	}
	_ = f.marked()
}
