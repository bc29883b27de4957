package troupe

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/membership"
	"github.com/troupe-go/troupe/internal/wake"
	"github.com/troupe-go/troupe/transport"
)

// own is the node's owner goroutine: it alone steps the membership core, and
// carries out what the core wants. It decides nothing.
func (n *Node) own() {
	defer close(n.done)
	timer := time.NewTimer(wake.Until(time.Now()))
	defer timer.Stop()
	for {
		in := gossip.Input(gossip.Tick{})
		step := n.core.Step
		select {
		case <-n.kill:
			n.end(ErrKilled)
			return
		case f := <-n.commands:
			f()
			continue
		case ans := <-n.arbiter.answers:
			step = func(time.Time, gossip.Input) membership.Output { return n.leaseAnswered(ans) }
		case <-n.leave.overdue:
			n.abandon()
			return
		case q := <-n.asked:
			n.vouch(q)
			continue
		case <-n.confirms:
		case in = <-n.inputs:
		case <-timer.C:
		}
		n.pulse.beat()
		out := step(time.Now(), in)
		n.pulse.cutAt(out.CutOff)
		n.carryOut(out)
		if out.Stop != nil {
			n.end(stopError(out.Stop))
			return
		}
		n.redials.follow(n, n.core.Suspects())
		n.confirm()
		again := time.Now().Add(n.pulse.lookAgain())
		if !out.Wake.IsZero() && out.Wake.Before(again) {
			again = out.Wake
		}
		timer.Reset(wake.Until(again))
	}
}

func (n *Node) carryOut(out membership.Output) {
	for _, p := range out.Send {
		n.sendMembership(p)
	}
	for _, e := range out.Events {
		n.logEvent(e)
		n.watchers.tellEvent(e)
	}
	if out.View != nil {
		n.publish(out.View)
	}
	if out.Acquire != nil {
		n.arbiter.ask(n.id, out.Acquire.At, n.cfg.Downing.LeaseTime(len(n.View().Members)))
	}
	for _, id := range out.Quarantine {
		n.endpoint.Quarantine(id)
	}
	if out.StartExiting {
		n.leave.start(n)
	}
}

// publish makes v the current view and draws the conclusions that hang on it
// alone.
func (n *Node) publish(v *View) {
	old := n.view.Swap(v)
	gone := func(id ID) bool {
		_, was := old.Member(id)
		_, is := v.Member(id)
		return was && !is
	}
	for _, m := range old.Members {
		if m.ID != n.id && gone(m.ID) {
			n.removed.add(m.ID)
			n.endpoint.Disconnect(m.ID)
		}
	}
	n.replies.reject(gone, ErrPeerRemoved)
	if self, ok := v.SelfMember(); ok && self.Status == member.Leaving {
		n.leave.start(n)
	}
	n.watchers.tellView(v)
}

func stopError(s *gossip.Stop) error {
	switch s.Reason {
	case gossip.Left:
		return nil
	case gossip.IncompatibleConfig, gossip.JoinTimedOut, gossip.JoinRefused, gossip.Superseded:
		return &EndError{Cause: ErrRefused, Text: s.Text}
	default:
		return &EndError{Cause: ErrDowned, Text: s.Text}
	}
}

// An EndError says in plain words why a node had to end.
type EndError struct {
	Cause error // [ErrDowned] or [ErrRefused]
	Text  string
}

func (e *EndError) Error() string { return e.Cause.Error() + ": " + e.Text }

func (e *EndError) Unwrap() error { return e.Cause }

// linkHandler takes what the transport has to tell. Nothing is handled before
// Start has put the node together.
type linkHandler struct{ n *Node }

// Batch looks at the clock once for all frames that were read at once.
func (h linkHandler) Batch(member.ID, transport.Lane) {
	h.awaitStart()
	h.n.pulse.paused()
}

func (h linkHandler) Receive(from member.ID, lane transport.Lane, payload []byte) {
	h.awaitStart()
	h.n.receive(from, lane, payload)
}

func (h linkHandler) awaitStart() {
	if !h.n.started.Load() { // cheaper on every frame than the channel
		<-h.n.ready
	}
}

func (h linkHandler) LinkUp(peer member.ID) {
	<-h.n.ready
	h.n.log.Debug("link up", slog.Any("peer", peer))
	_ = h.n.tell(context.Background(), gossip.Dialed{Peer: peer, Result: gossip.Answered})
}

func (h linkHandler) LinkDown(peer member.ID, err error) {
	<-h.n.ready
	h.n.linkDown(peer, err)
}

// refusalLevel is how much it matters that a peer refuses this node. A restart
// takes the place of what was at its address, and who leaves is removed before all
// its links are closed.
func (n *Node) refusalLevel(why transport.Refusal) slog.Level {
	self, in := n.View().SelfMember()
	switch {
	case why == transport.RefusedIncarnation,
		why == transport.RefusedQuarantined && in && (self.Status == member.Leaving || self.Status == member.Exiting):
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

// linkDown draws what conclusions the end of a link allows: one that broke may be
// the peer's death, and who has quarantined this node has seen it removed from
// the cluster.
func (n *Node) linkDown(peer ID, err error) {
	if transport.Broke(err) {
		_ = n.tell(context.Background(), gossip.LinkBroke{Peer: peer}) // ends with the node
	}
	var refused *transport.RefusedError
	if !errors.As(err, &refused) || refused.Reason == transport.RefusedClosing {
		n.log.Debug("link down", slog.Any("peer", peer), slog.Any("error", err))
		return
	}
	n.log.Log(context.Background(), n.refusalLevel(refused.Reason), "link refused", slog.Any("peer", peer), slog.Any("error", err))
	switch {
	case refused.Reason == transport.RefusedQuarantined:
		n.offer(gossip.Expelled{By: peer})
	case peer.UID == 0:
		n.offer(gossip.SeedRefused{Address: peer.Address, Text: refused.Text})
	}
}
