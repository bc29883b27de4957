package shard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/wire"
)

// An office is where a node answers what others ask about its part in entity types
// and does what operators want, and where it asks the others: one actor on each
// node, served under a name.
type office struct {
	node     *troupe.Node
	protocol *wire.Protocol[inquiry]
	open     sync.Once
	err      error // of opening
}

const (
	officeName = "troupe.shards"
	// askWithin bounds a question to another node, so that one which is silent costs
	// the answer of the others no more than that.
	askWithin = 2 * time.Second
)

// An inquiry is what an office understands.
//
//sumtype:decl
type inquiry interface{ inquiry() }

type (
	askAccount struct {
		Type, Shard string
		Reply       actor.Reply[account] `cbor:"-"`
	}
	askStats struct {
		Type  string
		Reply actor.Reply[RegionStats] `cbor:"-"`
	}
	relocate struct {
		Type       string
		Relocation relocation
		Reply      actor.Reply[done] `cbor:"-"`
	}
	spareNode struct {
		On    bool
		Reply actor.Reply[done] `cbor:"-"`
	}
)

// done answers who wanted something done.
type done struct{}

func (askAccount) inquiry() {}
func (askStats) inquiry()   {}
func (relocate) inquiry()   {}
func (spareNode) inquiry()  {}

func (m askAccount) WithReply(r actor.Reply[account]) inquiry   { m.Reply = r; return m }
func (m askStats) WithReply(r actor.Reply[RegionStats]) inquiry { m.Reply = r; return m }
func (m relocate) WithReply(r actor.Reply[done]) inquiry        { m.Reply = r; return m }
func (m spareNode) WithReply(r actor.Reply[done]) inquiry       { m.Reply = r; return m }

type officeKey struct{}

// openOffice opens the office of a node, if it is not open yet.
func openOffice(n *troupe.Node) (*office, error) {
	o := n.Component(officeKey{}, func() any { return &office{node: n} }).(*office)
	o.open.Do(func() { o.err = o.serve() })
	return o, o.err
}

func (o *office) serve() error {
	p, err := wire.NewProtocol[inquiry](
		wire.Request("troupe.shard.account", askAccount{}),
		wire.Request("troupe.shard.stats", askStats{}),
		wire.Request("troupe.shard.relocate", relocate{}),
		wire.Request("troupe.shard.drain", spareNode{}),
	)
	if err != nil {
		return err
	}
	o.protocol = p
	ref, err := actor.Spawn(o.node, officeName, func(*actor.Ctx[inquiry]) (actor.Behavior[inquiry], error) { return o.handle, nil })
	if errors.Is(err, actor.ErrStopped) {
		return troupe.ErrEnding
	}
	if err != nil {
		return err
	}
	return troupe.Serve(o.node, officeName, ref, p)
}

// handle answers at once: the loops that it asks never wait.
func (o *office) handle(c *actor.Ctx[inquiry], m inquiry) error {
	types := joinedOn(o.node)
	switch m := m.(type) {
	case askAccount:
		r, err := types.named(m.Type)
		if err != nil {
			return m.Reply.Fail(c, err)
		}
		return m.Reply.Send(c, r.account(m.Shard))
	case askStats:
		r, err := types.named(m.Type)
		if err != nil {
			return m.Reply.Fail(c, err)
		}
		return m.Reply.Send(c, r.Stats())
	case relocate:
		r, err := types.named(m.Type)
		if err == nil {
			err = r.relocate(m.Relocation)
		}
		if err != nil {
			return m.Reply.Fail(c, err)
		}
		return m.Reply.Send(c, done{})
	case spareNode:
		types.drain(m.On)
		return m.Reply.Send(c, done{})
	default:
		return actor.ErrUnhandled
	}
}

// inquire asks the office of a node, which may be this one.
func inquire[R any, Q actor.Request[inquiry, R]](ctx context.Context, o *office, at troupe.ID, q Q) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	answer, err := actor.Ask(ctx, troupe.Remote(o.node, at, officeName, o.protocol), q)
	if err != nil {
		return answer, fmt.Errorf("%s: %w", at, err)
	}
	return answer, nil
}
