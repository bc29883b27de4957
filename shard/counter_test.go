package shard

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/wire"
)

// The entity of the tests: it remembers what it was told, and the test remembers
// what was heard by whom.
type (
	msg interface{ isMsg() }

	say struct {
		From string
		N    int
		Work time.Duration // how long it takes
		Fail bool
		Last bool // stop after it
	}
	list struct {
		Reply actor.Reply[[]int] `cbor:"-"`
	}
	secret struct{} // without a wire name
)

func (say) isMsg()    {}
func (list) isMsg()   {}
func (secret) isMsg() {}

func (m list) WithReply(r actor.Reply[[]int]) msg { m.Reply = r; return m }

func newProtocol() *wire.Protocol[msg] {
	return wire.MustProtocol[msg](wire.Message("say", say{}), wire.Request("list", list{}))
}

// ledger is what all entities of a world heard, in order per entity, over all
// their incarnations; and which are alive.
type ledger struct {
	t *testing.T

	mu      sync.Mutex
	heard   map[string][]say
	alive   map[string]member.ID
	started map[string]int
	retell  bool          // a stopped entity tells itself again what it heard since its start
	starts  func() error  // nil: all starts succeed
	ends    time.Duration // how long an end takes
}

func newLedger(t *testing.T) *ledger {
	return &ledger{t: t, heard: map[string][]say{}, alive: map[string]member.ID{}, started: map[string]int{}}
}

func (l *ledger) start(node member.ID) actor.Start[msg] {
	return func(c *actor.Ctx[msg]) (actor.Behavior[msg], error) {
		if l.starts != nil {
			if err := l.starts(); err != nil {
				return nil, err
			}
		}
		l.mu.Lock()
		if other, ok := l.alive[c.Name()]; ok {
			l.t.Errorf("%s starts on %v while it lives on %v", c.Name(), node, other)
		}
		l.alive[c.Name()] = node
		l.started[c.Name()]++
		l.mu.Unlock()
		e := &speaker{l: l}
		c.Cleanup(func() { e.end(c) })
		return e.hear, nil
	}
}

type speaker struct {
	l     *ledger
	heard []say
}

func (e *speaker) hear(c *actor.Ctx[msg], m msg) error {
	switch m := m.(type) {
	case say:
		time.Sleep(m.Work)
		if m.Fail {
			return fmt.Errorf("told to fail by %s", m.From)
		}
		e.heard = append(e.heard, m)
		e.l.mu.Lock()
		e.l.heard[c.Name()] = append(e.l.heard[c.Name()], m)
		e.l.mu.Unlock()
		if m.Last {
			c.Stop()
		}
	case list:
		out := []int{}
		for _, s := range e.heard {
			out = append(out, s.N)
		}
		return m.Reply.Send(c, out)
	}
	return nil
}

func (e *speaker) end(c *actor.Ctx[msg]) {
	time.Sleep(e.l.ends)
	e.l.mu.Lock()
	delete(e.l.alive, c.Name())
	retell := e.l.retell
	if retell { // they are not handled yet: the successor has them
		all := e.l.heard[c.Name()]
		e.l.heard[c.Name()] = all[:len(all)-len(e.heard)]
	}
	e.l.mu.Unlock()
	if !retell {
		return
	}
	for _, m := range e.heard {
		if err := c.Self().Tell(c, m); err != nil {
			e.l.t.Errorf("%s tells itself %v: %v", c.Name(), m, err)
		}
	}
}

// settle ends the retelling: the world ends, and nobody takes over.
func (l *ledger) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retell = false
}

func (l *ledger) of(id string) []say {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]say(nil), l.heard[id]...)
}

func (l *ledger) home(id string) (member.ID, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ok := l.alive[id]
	return n, ok
}

func (l *ledger) starts1(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.started[id]
}

// complete checks that each entity heard from each sender 1, 2, … n.
func (l *ledger) complete(ids, senders []string, n int) {
	l.t.Helper()
	for _, id := range ids {
		heard := l.of(id)
		for _, from := range senders {
			next := 1
			for _, m := range heard {
				if m.From != from {
					continue
				}
				if m.N != next {
					l.t.Errorf("%s heard %d from %s, want %d", id, m.N, from, next)
					return
				}
				next++
			}
			if next != n+1 {
				l.t.Errorf("%s heard %d of %d messages from %s", id, next-1, n, from)
			}
		}
	}
}

// room8 declares the tests' type, with few shards.
func (l *ledger) declare(n *fakeNode) Type[msg] {
	return Type[msg]{Name: "room", Start: l.start(n.id), Protocol: newProtocol(), Shards: 8, ShardOf: placement.JavaHash, RebalanceEvery: -1, Ring: n.w.ring}
}

func joinOn(t *testing.T, n *fakeNode, typ Type[msg]) *Entities[msg] {
	t.Helper()
	e, err := join(n, typ)
	if err != nil {
		t.Fatalf("join %q on %v: %v", typ.Name, n.id, err)
	}
	return e
}

func tell(t *testing.T, e *Entities[msg], id string, m msg) {
	t.Helper()
	if err := e.Ref(id).Tell(context.Background(), m); err != nil {
		t.Errorf("tell %s %v: %v", id, m, err)
	}
}

func ask(e *Entities[msg], id string, within time.Duration) ([]int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return actor.Ask(ctx, e.Ref(id), list{})
}
