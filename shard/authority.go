package shard

import (
	"context"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/shard/internal/coordinator"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// An authority is this node's part in deciding where the shards of a type live: a
// core, and what it needs beside the control loop's hands. The loop alone uses it,
// and sends what it says.
type authority interface {
	// view, hear, absent and tick step the core: the membership changed, a message
	// came that is not for the region, a node has not joined the type, it is time.
	view(now time.Time, v *troupe.View) said
	hear(now time.Time, from troupe.ID, m protocol.Message) said
	absent(now time.Time, node troupe.ID) said
	tick(now time.Time) said
	// leave: this node leaves gracefully.
	leave(now time.Time) said
	// reports are steps that wait to be taken on the loop.
	reports() <-chan report
	// end is called behind the loop's end. A busy node is one where entities may
	// still run.
	end(busy bool)
	// why tells what a shard waits for, and waits what all wait for.
	why(shard string) []troupe.Wait
	waits() []protocol.Waiting
	// deciders are the nodes that know best where a shard is to live, the one to turn
	// to first; none when nobody decides.
	deciders(shard string) []troupe.ID
	// relocate does what an operator wants, or says why not.
	relocate(now time.Time, want relocation) (said, error)
}

// said is what came of a step.
type said struct {
	send []protocol.Packet
	wake time.Time // when it is time next; zero for never
	// alone: this node leaves, and nobody else is there to take what it has, nor is
	// known to come.
	alone bool
}

// coordinating is the authority of a type without a ring: the coordinator, which
// is on this node as on all others and reigns on one.
type coordinating struct {
	core  *coordinator.Core
	desk  *desk
	notes notes
	log   func(coordinator.Event)
}

// raiseWithin bounds one attempt to raise the term, of which there are several in
// the time that the core waits.
const raiseWithin = time.Second

func (a *coordinating) step(now time.Time, in coordinator.Input) said {
	return a.after(a.core.Step(now, in))
}

// after does what a step asks for.
func (a *coordinating) after(out coordinator.Output) said {
	if out.Raise != 0 {
		a.desk.do(func(ctx context.Context) report {
			raised := a.notes.raise(ctx, out.Raise)
			return func(now time.Time) said { return a.step(now, raised) }
		})
	}
	if out.Save != nil {
		a.desk.do(func(ctx context.Context) report {
			saved := a.notes.save(ctx, *out.Save)
			return func(now time.Time) said { return a.step(now, saved) }
		})
	}
	for _, e := range out.Events {
		a.log(e)
	}
	return said{send: out.Send, wake: out.Wake}
}

func (a *coordinating) view(now time.Time, v *troupe.View) said {
	return a.step(now, coordinator.ViewChanged{View: v})
}

func (a *coordinating) hear(now time.Time, from troupe.ID, m protocol.Message) said {
	return a.step(now, coordinator.Received{From: from, Msg: m})
}

func (a *coordinating) absent(now time.Time, node troupe.ID) said {
	return a.step(now, coordinator.NoPort{From: node})
}

// leave tells the core nothing: the region asks it, or another one, to be relieved.
func (a *coordinating) leave(now time.Time) said { return a.tick(now) }

func (a *coordinating) tick(now time.Time) said { return a.step(now, coordinator.Tick{}) }

func (a *coordinating) reports() <-chan report { return a.desk.answers }

func (a *coordinating) end(bool) { a.desk.close() }

func (a *coordinating) why(shard string) []troupe.Wait { return a.core.Why(shard) }

func (a *coordinating) waits() []protocol.Waiting { return a.core.Waits() }

func (a *coordinating) deciders(string) []troupe.ID {
	if id := a.core.Coordinator(); !id.IsZero() {
		return []troupe.ID{id}
	}
	return nil
}
