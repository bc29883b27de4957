package transport

import (
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

func TestLineKeepsTheLatestRound(t *testing.T) {
	l := newLine()
	conn := func(round uint64, anyone bool) *inbound {
		near, far := net.Pipe()
		t.Cleanup(func() { hangUp(near); hangUp(far) })
		return &inbound{conn: near, line: l, round: round, anyone: anyone, stop: make(chan struct{})}
	}
	first, second, late := conn(1, false), conn(3, false), conn(2, false)
	join := conn(1, true)
	for _, step := range []struct {
		name string
		conn *inbound
		want bool
	}{
		{"the first", first, true},
		{"of the other kind", join, true},
		{"a later one", second, true},
		{"one that was late", late, false},
	} {
		if got := l.enter(step.conn); got != step.want {
			t.Errorf("enter %s: got %v, want %v", step.name, got, step.want)
		}
	}
	for name, c := range map[string]struct {
		conn *inbound
		want bool
	}{"first": {first, true}, "second": {second, false}, "join": {join, false}} {
		if got := c.conn.ended.Load(); got != c.want {
			t.Errorf("%s ended: got %v, want %v", name, got, c.want)
		}
	}
	if l.leave(first) || l.leave(join) || !l.leave(second) {
		t.Error("leave: want only the last to be told that the line is empty")
	}
}

// A loner notices when it is called twice at a time for one lane.
type loner struct {
	tape
	inside, overlaps atomic.Int64
}

func (h *loner) Receive(from member.ID, lane Lane, payload []byte) {
	if h.inside.Add(1) > 1 {
		h.overlaps.Add(1)
	}
	h.tape.Receive(from, lane, payload)
	h.inside.Add(-1)
}

// Two connections at a time bring control frames of one peer, and one of them
// breaks while the handler is slow.
func TestReceiveNeverOverlapsForOneLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := NewMemory()
		got := loner{tape: tape{slow: 7 * time.Millisecond}}
		a, b := node(t, memory, 1, &tape{}), node(t, memory, 2, &got)
		for i := range 200 {
			if err := a.SendAddress(b.Self().Address, []byte("join")); err != nil {
				t.Fatal(err)
			}
			if err := a.Send(b.Self(), Control, []byte("heartbeat")); err != nil {
				t.Fatal(err)
			}
			if i%50 == 25 {
				memory.Reset(a.Self().Address, b.Self().Address)
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		if n := got.overlaps.Load(); n != 0 {
			t.Errorf("%d calls of Receive overlapped", n)
		}
		if n := b.Stats().Control.ReceivedFrames; n < 100 { // resets lose what is under way
			t.Errorf("received %d of 400 frames", n)
		}
	})
}
