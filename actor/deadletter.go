package actor

import (
	"maps"
	"sync"
)

// Reason says why a message became a dead letter. Packages that route messages add their own.
type Reason string

// The reasons of this package.
const (
	// ReasonStopped: it was still in the mailbox or the stash when its actor ended.
	ReasonStopped = Reason("stopped")
	// ReasonUnhandled: the behavior returned ErrUnhandled.
	ReasonUnhandled = Reason("unhandled")
	// ReasonFailed: its actor failed while handling it.
	ReasonFailed = Reason("failed")
	// ReasonRestarted: the result of a Go function of an incarnation that has ended.
	ReasonRestarted = Reason("restarted")
	// ReasonLateReply: an answer whose asker had stopped waiting, or had been answered before.
	ReasonLateReply = Reason("late reply")
	// ReasonUnsentReply: an answer that could not be put on its way to another node.
	ReasonUnsentReply = Reason("unsent reply")
)

// DeadLetter is an accepted message that nobody handled, or an answer that nobody waits for. A message that Tell refuses is none: its sender
// has the error.
type DeadLetter struct {
	To      string // as its Ref is written: the path of a local actor, type and id of an entity
	Message any
	Reason  Reason
}

// deadLetters counts by reason and tells the system's owner.
type deadLetters struct {
	mu     sync.Mutex
	counts map[Reason]uint64
	notify func(DeadLetter)
}

func (d *deadLetters) add(l DeadLetter) {
	d.mu.Lock()
	if d.counts == nil {
		d.counts = make(map[Reason]uint64)
	}
	d.counts[l.Reason]++
	d.mu.Unlock()
	if d.notify != nil {
		d.notify(l)
	}
}

func (d *deadLetters) snapshot() map[Reason]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.counts)
}
