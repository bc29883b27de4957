package shard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
)

// lockedBuffer is a log's end that a test may read meanwhile.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// OPS-04: whatever happens ten thousand times per second is a handful of lines
// per minute; the first has all that is known, later ones the total.
func TestOPS04LogFloodHidesTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		c := newComplaints(slog.New(slog.NewTextHandler(&log, nil)))
		for range 60 {
			for range 10_000 {
				c.warn("message dropped", "buffer full", slog.String("to", "room/#1"))
			}
			time.Sleep(time.Second)
		}
		c.flush()
		if got := log.String(); !strings.HasSuffix(got, "msg=\"message dropped\" reason=\"buffer full\" more=99999\n") {
			t.Errorf("the total at the end is not told: %s", got)
		}
		before := log.String()
		if c.flush(); log.String() != before {
			t.Errorf("a total is told twice: %s", log.String())
		}
		c.warn("message dropped", "node ended", slog.String("to", "room/#2"))
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) >= 20 {
			t.Errorf("%d lines in a minute, want fewer than 20", len(lines))
		}
		if !strings.Contains(lines[0], "reason=\"buffer full\" more=0") || !strings.Contains(lines[0], "to=room/#1") {
			t.Errorf("first line: %s", lines[0])
		}
		if !strings.Contains(lines[1], "more=99999") {
			t.Errorf("second line does not count what was left out: %s", lines[1])
		}
		if last := lines[len(lines)-1]; !strings.Contains(last, "node ended") {
			t.Errorf("another cause was held back; last line: %s", last)
		}
	})
}

// Nodes that divide ids differently do not serve one type together: the odd one
// gets no shards, what was told there while that was not known yet is dropped
// with a reason, and then all is refused.
func TestNodesThatDisagree(t *testing.T) {
	in(t, func(w *world) {
		var log lockedBuffer
		w.log = slog.New(slog.NewTextHandler(&log, nil))
		l := newLedger(t)
		a, b := w.start(), w.start()
		onA := joinOn(t, a, l.declare(a))
		odd := l.declare(b)
		odd.Shards = 9
		onB := joinOn(t, b, odd)
		tell(t, onB, "#1", say{From: "y", N: 1})
		for _, id := range ids(20) {
			tell(t, onA, id, say{From: "x", N: 1})
		}
		time.Sleep(5 * time.Second)
		l.complete(ids(20), []string{"x"}, 1)
		if hosted := onB.Region().Hosted(); len(hosted) != 0 {
			t.Errorf("the odd node hosts %v", hosted)
		}
		if !strings.Contains(log.String(), "9 shards") || !strings.Contains(log.String(), "8 shards") {
			t.Errorf("the log does not name both declarations:\n%s", log.String())
		}
		for _, id := range ids(20) {
			began := time.Now()
			if _, err := ask(onB, id, 5*time.Second); !errors.Is(err, ErrDisagree) || time.Since(began) > 0 {
				t.Errorf("ask of %s through the odd node: %v after %v, want ErrDisagree at once", id, err, time.Since(began))
			}
		}
		if got := onB.Region().Why(t.Context(), "#1").String(); !strings.Contains(got, "declares the type differently") {
			t.Errorf("asked why, the odd node says %q; want that it declares the type differently", got)
		}
		time.Sleep(defaultOverdue)
		if got := Health([]Region{onA.Region(), onB.Region()}); len(got) != 1 || got[0].Wait.What != WaitDecider || got[0].Fatal {
			t.Errorf("troubles %+v, want the odd node's alone", got)
		}
		for line := range strings.Lines(log.String()) {
			if strings.Count(line, " node=") > 1 {
				t.Errorf("two attributes have one name: %s", line)
			}
		}
		if r := onB.Region(); r.Waiting() != 0 || r.Drops()[DropDisagree] != 1 {
			t.Errorf("through the odd node %d messages wait, drops %v; want none, and the first one dropped", r.Waiting(), r.Drops())
		}
	})
}

// Equal numbers of shards are not enough: with another ShardOf an entity would
// live twice.
func TestNodesThatDisagreeOnShardOf(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		a, b := w.start(), w.start()
		onA := joinOn(t, a, l.declare(a))
		odd := l.declare(b)
		odd.ShardOf = func(id string, shards int) int { return (placement.JavaHash(id, shards) + 1) % shards }
		onB := joinOn(t, b, odd)
		time.Sleep(5 * time.Second)
		for _, id := range ids(40) {
			if _, err := ask(onA, id, time.Second); err != nil {
				t.Errorf("ask of %s: %v", id, err)
			}
			if _, err := ask(onB, id, time.Second); !errors.Is(err, ErrDisagree) {
				t.Errorf("ask of %s where ShardOf is another: %v, want ErrDisagree", id, err)
			}
		}
	})
}

// A node of other settings holds nobody up: the others place, leave and take over
// as if it were not there.
func TestOddNodeHoldsNobodyUp(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		a, b, edge := w.start("dad"), w.start("dad"), w.start("edge")
		hosted := func(n *fakeNode) Type[msg] {
			typ := l.declare(n)
			typ.Role = "dad"
			return typ
		}
		joinOn(t, a, hosted(a))
		onB := joinOn(t, b, hosted(b))
		odd := hosted(edge)
		odd.Shards = 16
		onEdge := joinOn(t, edge, odd)
		for _, id := range ids(40) { // before it is known that they are told in vain
			tell(t, onEdge, id, say{From: "x", N: 1})
		}
		time.Sleep(5 * time.Second)
		for shard := range 16 {
			if home, ok := onB.Region().Home(fmt.Sprint(shard)); ok {
				t.Errorf("shard %d has a home on %v, which only the odd node had asked for", shard, home)
			}
		}
		chats := ids(40)
		for _, id := range chats {
			tell(t, onB, id, say{From: "y", N: 1})
		}
		time.Sleep(5 * time.Second)
		began := time.Now()
		w.set(a, member.Leaving)
		if err := a.onLeave[0](context.Background()); err != nil || time.Since(began) > time.Second {
			t.Errorf("leave: %v after %v, want it within a second", err, time.Since(began))
		}
		for _, id := range chats {
			tell(t, onB, id, say{From: "y", N: 2})
		}
		time.Sleep(time.Second)
		l.complete(chats, []string{"y"}, 2)
	})
}
