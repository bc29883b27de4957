package troupe

import (
	"context"
	"fmt"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/gossip"
)

// Leave makes the node leave gracefully: components hand over what they have
// here, the cluster removes the node, actors stop and links close. It returns
// when all is quiet, and within Config.LeaveWithin at the latest. When a component could
// not hand over in its part of that time, or the others did not remove the node in
// theirs, the node downs itself instead; the error says what was left, or what is still
// running. When ctx ends first the node ends at once, as by [Node.Kill], and the error
// is ctx's.
//
// An actor may call it with its own Ctx: then it returns as soon as the leave has
// begun, because the actor is among what must stop. [Node.Done] tells the end.
func (n *Node) Leave(ctx context.Context) error {
	if err := n.tell(ctx, gossip.Leave{Address: n.id.Address}); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	if actor.Current(ctx) != nil {
		return nil
	}
	select {
	case <-n.done:
		if n.err != nil {
			return fmt.Errorf("leave: %w", n.err)
		}
		return nil
	case <-ctx.Done():
		n.Kill()
		return fmt.Errorf("leave: %w", ctx.Err())
	}
}

// LeaveMember makes the member at an address leave gracefully. It returns when
// this node has taken note; the rest happens by gossip.
func (n *Node) LeaveMember(ctx context.Context, a Address) error {
	return n.tell(ctx, gossip.Leave{Address: a})
}

// Down declares the member at an address dead, by hand. It returns when this
// node has taken note; the rest happens by gossip.
func (n *Node) Down(ctx context.Context, a Address) error {
	return n.tell(ctx, gossip.Down{Address: a})
}

// JoinThrough makes this node join the cluster of the node at an address, in
// place of what its configuration says; its own address founds one. A node that
// is a member stays what it is. It returns when this node has taken note.
func (n *Node) JoinThrough(ctx context.Context, a Address) error {
	return n.tell(ctx, gossip.JoinAddress{Address: a})
}

// PrepareClusterShutdown announces that the whole cluster is about to stop: no
// node joins or comes up any more, nothing is placed or moved, and nobody is downed but by
// hand or for a confirmed crash, so that all nodes can be made to leave in any order and at the same time. Entities go on
// where they are until their node leaves, and then end without a successor. It is not taken
// back: to go on, start all nodes anew. It returns when this node has taken note; the
// rest happens by gossip.
func (n *Node) PrepareClusterShutdown(ctx context.Context) error {
	return n.tell(ctx, gossip.PrepareShutdown{})
}

// tell hands an input to the owner goroutine; once the node is ending that is no error.
func (n *Node) tell(ctx context.Context, in gossip.Input) error {
	select {
	case n.inputs <- in:
		return nil
	case <-n.ending:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Kill ends the node at once and without a word to the others, as a crash of
// its process would, and returns when all is quiet. It is for tests and last resorts.
func (n *Node) Kill() {
	n.killOnce.Do(func() { close(n.kill) })
	<-n.done
}
