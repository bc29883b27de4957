package singleton

import (
	"errors"
	"fmt"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/store"
)

// Join makes a node take part in a singleton: it sends to the instance and, unless the
// type asks for a role that the node has not, may run it. It returns at once; messages
// wait until there is an instance. The node hands the instance over when it leaves, and
// stops it when it ends.
//
// All problems of the declaration are reported together. A singleton can be joined once
// per node: errors.Is(err, ErrJoined); and not on a node that is leaving or has ended:
// errors.Is(err, troupe.ErrEnding). Nothing else makes it fail, whatever the membership does.
func Join[M any](n *troupe.Node, t Type[M]) (*Singleton[M], error) {
	full, err := t.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("join singleton %q: invalid declaration: %w", t.Name, err)
	}
	s := newShell(n, full)
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("join singleton %q: %w", t.Name, err)
	}
	return &Singleton[M]{s}, nil
}

// Singleton is a node's part in a singleton. All methods are safe for concurrent
// use; none waits for another node.
type Singleton[M any] struct{ s *shell[M] }

// Ref leads to the instance, wherever it is, now and later.
//
// Tell never blocks. nil from it means that the message is in the instance's mailbox, in a
// link's lane, or waits for an instance. An error means certainly not accepted:
// wire.ErrNotNamed for a message that the protocol does not list, actor.ErrFull for
// a full mailbox, buffer or lane, [ErrEnded]. An ask can also end with [ErrNoOwner], and
// with troupe.ErrPeerRemoved: then it is unknown whether it was handled.
func (s *Singleton[M]) Ref() actor.Ref[M] { return actor.NewRef[M](s.s, "") }

// Owner is the node that messages go to, as far as this one knows; false while there
// is none.
func (s *Singleton[M]) Owner() (troupe.ID, bool) { return s.s.way() }

// Waiting is how many messages wait on this node for the instance.
func (s *Singleton[M]) Waiting() int { return s.s.waiting() }

// Drops counts what was let go on this node, by reason.
func (s *Singleton[M]) Drops() map[Drop]uint64 { return s.s.drops.read() }

// Why tells what the singleton waits for: since when, until when and on whom, as far as
// this node knows. It is empty when there is an instance.
func (s *Singleton[M]) Why() []troupe.Wait { return s.s.control.why() }

// open connects the shell with the cluster.
func (s *shell[M]) open() error {
	p, err := s.node.Open("troupe.singleton/"+s.typ.Name, s)
	if errors.Is(err, troupe.ErrPortTaken) {
		return errors.Join(ErrJoined, err)
	}
	if err != nil {
		return err
	}
	if s.typ.Lease != nil {
		s.keeper, err = newKeeper(s.typ.Lease, store.LeaseConfig{
			Name: "singleton/" + s.node.Name() + "/" + s.typ.Name, Owner: s.self.String(), TTL: s.typ.LeaseTTL, Lost: s.leaseLost,
		}, s.log, s.control.posts)
		if err != nil {
			p.Close()
			return err
		}
	}
	s.port, s.lane = p, p.Lane(hashOf(s.typ.Name))
	close(s.ready)
	go s.control.run() // end waits for it
	name := "singleton " + s.typ.Name
	if err = s.node.OnLeave(name, s.control.leave); err == nil {
		err = s.node.OnEnd(name, s.end)
	}
	if err != nil {
		p.Close()
		s.end()
		return err
	}
	s.node.Subscribe(s.control.views.Set) // for as long as the node lives
	return nil
}
