package shard

import (
	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
)

// An Event is something that happened to an entity or a shard, as this node sees
// it. Events of one entity are told on the entity itself, in order with what it
// does: its start is told before its first message, its end after its last
// cleanup. Homes are told in the order in which the node learned of them, and a denied tenure
// by whoever met the store's refusal.
type Event struct {
	Kind  EventKind
	Type  string
	Shard string
	ID    string       // of the entity; empty for homes
	Node  troupe.ID    // where the entity or the shard lives; who waits, of what is overdue
	Wait  *troupe.Wait // what is overdue; nil otherwise
}

// EventKind says what happened.
type EventKind uint8

// The kinds of event.
const (
	EntityStarted EventKind = iota + 1 // an incarnation has started here
	EntityStopped                      // it has ended, or is about to be restarted
	HomeLearned                        // the shard lives on Node
	TenureDenied                       // the store knows a newer owner of the shard, which is stopped here, on Node
	Overdue                            // the shard, or the type if none is named, has waited for longer than it may: see [Trouble]
)

// start is the Start of all entities: the user's, which also marks that the
// entity came to life and tells the observer.
func (r *shell[M]) start(c *actor.Ctx[M]) (actor.Behavior[M], error) {
	e := r.active.find(c.Name()) // here before its cell, and until that has ended
	if r.typ.Observe == nil {
		return r.begin(c, e)
	}
	event := Event{Type: r.typ.Name, Shard: e.home.s.shard, ID: c.Name(), Node: r.self}
	tell := func(k EventKind) {
		event.Kind = k
		r.typ.Observe(event)
	}
	live := false
	// The first cleanup runs last: the end is told after all else.
	c.Cleanup(func() {
		if live {
			tell(EntityStopped)
		}
	})
	b, err := r.begin(c, e)
	if err != nil {
		return nil, err
	}
	live = true
	tell(EntityStarted)
	return b, nil
}

// overdue tells the observer of a wait that lasts for longer than it may.
func (r *shell[M]) overdue(t Trouble) {
	if f := r.typ.Observe; f != nil {
		f(Event{Kind: Overdue, Type: r.typ.Name, Shard: t.Shard, Node: r.self, Wait: &t.Wait})
	}
}

// begin runs the user's Start.
func (r *shell[M]) begin(c *actor.Ctx[M], e *entity[M]) (b actor.Behavior[M], err error) {
	if r.typ.StartSized != nil {
		b, err = r.typ.StartSized(c, e.resize)
	} else {
		b, err = r.typ.Start(c)
	}
	if err == nil && b != nil { // without a behavior it is the actor that fails to start
		e.started = true
		r.recovery.done(e)
	}
	return b, err
}
