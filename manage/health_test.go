package manage

import (
	"net/http"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard"
)

// probed is a handler with a clock and one region in a test's hand.
type probed struct {
	*handler
	node   *fakeNode
	region *fakeRegion
	now    time.Time
}

func probe(limit time.Duration) *probed {
	p := &probed{
		node:   &fakeNode{view: threeNodes(), done: make(chan struct{})},
		region: &fakeRegion{name: "Dad"},
		now:    time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
	}
	var err error
	if p.handler, err = newHandler(p.node, p.node.types([]shard.Region{p.region}), func() time.Time { return p.now }, Options{RegistrationLimit: limit}); err != nil {
		panic(err) // options of a test
	}
	return p
}

func (p *probed) wantReady(t *testing.T, when string, status int, body string) {
	t.Helper()
	w := do(p, http.MethodGet, "/ready")
	if w.Code != status || w.Body.String() != body {
		t.Errorf("/ready %s = %d %q, want %d %q", when, w.Code, w.Body.String(), status, body)
	}
}

const (
	notAMember    = "Not Healthy: Check [cluster-membership] not ok"
	notRegistered = "Not Healthy: Check [sharding] not ok"
)

func TestReadyFollowsTheMembership(t *testing.T) {
	for _, tt := range []struct {
		status member.Status
		want   int
	}{
		{member.Joining, 500},
		{member.WeaklyUp, 200},
		{member.Up, 200},
		{member.Leaving, 500},
		{member.Exiting, 500},
		{member.Down, 500},
	} {
		v := threeNodes()
		v.Members[0].Status = tt.status
		w := do(served(v, nil, Options{}), http.MethodGet, "/ready")
		if w.Code != tt.want {
			t.Errorf("/ready of a node that is %v = %d %s, want %d", tt.status, w.Code, w.Body, tt.want)
		}
	}
	w := do(served(&member.View{Self: idA}, nil, Options{}), http.MethodGet, "/ready")
	if w.Code != 500 || w.Body.String() != notAMember {
		t.Errorf("/ready before joining = %d %q, want 500 %q", w.Code, w.Body, notAMember)
	}
}

func TestOPS01ReadyNeedsRegistrationAndThenDoesNotFlap(t *testing.T) {
	p := probe(time.Minute)
	p.wantReady(t, "before registration", 500, notRegistered)
	p.region.registered = true
	p.wantReady(t, "once registered", 200, "OK")
	p.region.registered = false // the coordinator moves
	p.now = p.now.Add(time.Hour)
	p.wantReady(t, "while the coordinator moves", 200, "OK")
}

func TestUPG02ReadyWaitsForATypeOnlyUpToALimit(t *testing.T) {
	const degraded = "OK\ndegraded: entity type Dad has found no coordinator yet"
	p := probe(0)
	p.wantReady(t, "at first", 500, notRegistered)
	p.now = p.now.Add(DefaultRegistrationLimit - 1)
	p.wantReady(t, "just before the limit", 500, notRegistered)
	p.now = p.now.Add(1)
	p.wantReady(t, "at the limit", 200, degraded)
	p.region.registered = true
	p.wantReady(t, "registered late", 200, "OK")
}

func TestUPG02TheLimitStartsWhenTheNodeIsUp(t *testing.T) {
	p := probe(time.Minute)
	p.node.view.Members[0].Status = member.Joining
	p.wantReady(t, "while joining", 500, notAMember)
	p.now = p.now.Add(time.Hour)
	p.node.view.Members[0].Status = member.Up
	p.wantReady(t, "just up", 500, notRegistered)
}

func TestReadyCanDoWithoutWaiting(t *testing.T) {
	probe(-1).wantReady(t, "at first", 200, "OK\ndegraded: entity type Dad has found no coordinator yet")
}

func TestAPausedNodeIsAliveAndNotReady(t *testing.T) {
	p := probe(-1)
	p.region.registered = true
	p.node.paused = true
	p.wantReady(t, "while paused", 500, notAMember)
	if w := do(p, http.MethodGet, "/alive"); w.Code != 200 {
		t.Errorf("/alive while paused = %d %s, want 200", w.Code, w.Body)
	}
	p.node.paused = false
	p.wantReady(t, "when it goes on", 200, "OK")
}

func TestAliveUntilTheNodeHasEnded(t *testing.T) {
	p := probe(-1)
	if w := do(p, http.MethodGet, "/alive"); w.Code != 200 || w.Body.String() != "OK" {
		t.Errorf("/alive = %d %q, want 200 OK", w.Code, w.Body)
	}
	close(p.node.done)
	for _, path := range []string{"/alive", "/ready"} {
		w := do(p, http.MethodGet, path)
		if want := "Not Healthy: Check [node] not ok"; w.Code != 500 || w.Body.String() != want {
			t.Errorf("%s after the end = %d %q, want 500 %q", path, w.Code, w.Body, want)
		}
	}
}
