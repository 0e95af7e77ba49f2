package provider

import (
	"sync"
	"testing"

	"fairlead/router/route"
)

func TestMailboxKeepsTheNewest(t *testing.T) {
	m := NewMailbox()
	if _, ok := m.Take(); ok {
		t.Fatal("an empty mailbox gave something")
	}
	m.Put(route.Snapshot{Provider: "old"})
	m.Put(route.Snapshot{Provider: "new"})
	<-m.Ready()
	if s, ok := m.Take(); !ok || s.Provider != "new" {
		t.Fatalf("got %+v, %v", s, ok)
	}
	if _, ok := m.Take(); ok {
		t.Error("the slot was not emptied")
	}
	select {
	case <-m.Ready():
		t.Error("ready without a snapshot")
	default:
	}
}

func TestMailboxLosesNoLastWord(t *testing.T) {
	m := NewMailbox()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				m.Put(route.Snapshot{Provider: "some"})
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); m.Put(route.Snapshot{Provider: "last"}); close(done) }()
	for last := ""; last != "last"; {
		<-m.Ready()
		if s, ok := m.Take(); ok {
			last = s.Provider
		}
	}
	<-done
}
