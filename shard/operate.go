package shard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard/internal/coordinator"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
)

const (
	// ErrNoShard: the type has no such shard.
	ErrNoShard = actor.Error("shard: no such shard")
	// ErrUnfit: the node cannot take the shard; the text says why.
	ErrUnfit = actor.Error("shard: the node cannot take it")
	// ErrUnsettled: the shard has no home that it could leave, or is on its way
	// already; the text says what it waits for.
	ErrUnsettled = actor.Error("shard: it has no home to leave")
	// ErrUndecided: nobody decides where the type's shards live at the moment, or who
	// does has just changed. Try again.
	ErrUndecided = actor.Error("shard: nobody decides where shards live now")
	// ErrNotJoined: the type was not joined on the node asked.
	ErrNotJoined = actor.Error("shard: type not joined there")
	// ErrComputed: with a ring every node computes where shards live, so nobody can
	// wish one to a node. Give nodes other weights, or release the shard.
	ErrComputed = actor.Error("shard: a ring computes where shards live")
)

// errNoOffice: the node has no way to ask others.
const errNoOffice = actor.Error("shard: this node asks no other")

// absent tells of a node's error whether it takes no part in the type.
func absent(err error) bool {
	return errors.Is(err, ErrNotJoined) || errors.Is(err, troupe.ErrNobody)
}

// A relocation is what an operator wants of a shard.
type relocation struct {
	Shard   string
	To      troupe.Address // zero: anywhere
	Now     bool           // refused unless it can go there now
	Release bool           // it must leave its home
}

// Move implements [Region].
func (r *shell[M]) Move(ctx context.Context, shard string, to troupe.Address) error {
	return r.operate(ctx, relocation{Shard: shard, To: to, Now: true})
}

// Release implements [Region].
func (r *shell[M]) Release(ctx context.Context, shard string) error {
	return r.operate(ctx, relocation{Shard: shard, Release: true})
}

// SetHome wishes a shard to live at an address from now on, as [Region.Move] does,
// but the node need not be there: whenever one is at that address and can host, the
// shard goes to it, whatever the type's strategy; while there is none it lives
// anywhere. The zero address takes a wish back. All nodes keep wishes, so they
// outlast each of them, and with a store (troupe.Config.Store) a stop of the whole
// cluster too. It returns when who decides has noted it; [ErrComputed] with a ring.
func (e *Entities[M]) SetHome(ctx context.Context, shard string, at troupe.Address) error {
	return e.r.operate(ctx, relocation{Shard: shard, To: at})
}

// operate has who decides carry out what an operator wants.
func (r *shell[M]) operate(ctx context.Context, want relocation) error {
	if _, ok := r.slotNamed(want.Shard); !ok {
		return fmt.Errorf("%w: %q of %s", ErrNoShard, want.Shard, r.typ.Name)
	}
	var deciders []troupe.ID
	if !r.control.ask(func(time.Time) { deciders = r.control.authority.deciders(want.Shard) }) {
		return ErrEnded
	}
	switch {
	case len(deciders) == 0:
		return fmt.Errorf("%w: no member that is Up may", ErrUndecided)
	case deciders[0] == r.self:
		return r.relocate(want)
	}
	o := r.node.office()
	if o == nil {
		return errNoOffice
	}
	_, err := inquire(ctx, o, deciders[0], relocate{Type: r.typ.Name, Relocation: want})
	return err
}

// relocate carries it out here.
func (r *shell[M]) relocate(want relocation) (err error) {
	ran := r.control.ask(func(now time.Time) {
		var s said
		s, err = r.control.authority.relocate(now, want)
		r.control.say(now, s)
	})
	if !ran {
		return ErrEnded
	}
	return err
}

func (a *coordinating) relocate(now time.Time, want relocation) (said, error) {
	var in coordinator.Input = coordinator.Wish{Shard: want.Shard, To: want.To, Now: want.Now}
	if want.Release {
		in = coordinator.Release{Shard: want.Shard}
	}
	out := a.core.Step(now, in)
	return a.after(out), refusal(out.Refused)
}

// refusal puts the reasons that users know in the place of the core's.
func refusal(err error) error {
	for _, pair := range [...]struct {
		core protocol.Error
		ours actor.Error
	}{
		{coordinator.ErrNotCoordinator, ErrUndecided},
		{coordinator.ErrNoShard, ErrNoShard},
		{coordinator.ErrUnfit, ErrUnfit},
		{coordinator.ErrUnsettled, ErrUnsettled},
	} {
		if errors.Is(err, pair.core) {
			return fmt.Errorf("%w%s", pair.ours, strings.TrimPrefix(err.Error(), string(pair.core)))
		}
	}
	return err
}

// Drain has a node give away all shards that it hosts, of all types, and get no more
// until [Resume]: as far as others can take them. It goes on routing. It returns
// when the node has taken note; [Drained] tells of this node whether it is so.
func Drain(ctx context.Context, n *troupe.Node, at troupe.ID) error {
	return setDrained(ctx, n, at, true)
}

// Resume ends what Drain began.
func Resume(ctx context.Context, n *troupe.Node, at troupe.ID) error {
	return setDrained(ctx, n, at, false)
}

func setDrained(ctx context.Context, n *troupe.Node, at troupe.ID, on bool) error {
	o, err := openOffice(n)
	if err == nil {
		_, err = inquire(ctx, o, at, spareNode{On: on})
	}
	if err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	return nil
}

// Drained tells whether a node gives away its shards and gets no more: see [Drain].
func Drained(n *troupe.Node) bool { return joinedOn(n).isDrained() }

func (r *shell[M]) spare(on bool) { r.control.post(region.Spare{On: on}) }
