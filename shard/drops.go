package shard

import (
	"log/slog"
	"sync/atomic"

	"github.com/troupe-go/troupe/actor"
)

// A Drop is a reason for which a type let go of something on this node. A user's
// message that is dropped is a dead letter; its asker gets an error. Nothing is lost by
// [DropBack], [DropRepeat] and [DropLate], nor by what is said again: [DropConfirm], [DropQuestion].
type Drop string

// The reasons.
const (
	DropExpired   Drop = "ask expired while it waited"
	DropHops      Drop = "passed on too often"
	DropFull      Drop = "buffer full"
	DropStart     Drop = "entity did not start"
	DropEnded     Drop = "node ended"
	DropUnsent    Drop = "could not be sent"
	DropEnvelope  Drop = "envelope not understood"
	DropMessage   Drop = "message not understood"
	DropDisagree  Drop = "nodes disagree on the shard"
	DropControl   Drop = "control message not understood"
	DropLane      Drop = "control message not sent"
	DropBusy      Drop = "control message not taken, since too many wait"
	DropStaleNote Drop = "stale route not reported"
	DropRedirect  Drop = "redirection of an ask not sent"

	DropHomeless    Drop = "no home known in time"
	DropPoison      Drop = "not confirmed by any of too many owners"
	DropUnconfirmed Drop = "not confirmed by its owner"
	DropBack        Drop = "not taken, and sent again later"
	DropRepeat      Drop = "repeat suppressed"
	DropConfirm     Drop = "confirmation not sent"
	DropQuestion    Drop = "question about messages not sent"
	DropLate        Drop = "not put in order, but handled at once"
)

var drops = [...]Drop{
	DropExpired, DropHops, DropFull, DropStart, DropEnded, DropUnsent, DropEnvelope, DropMessage,
	DropDisagree, DropControl, DropLane, DropBusy, DropStaleNote, DropRedirect,
	DropHomeless, DropPoison, DropUnconfirmed, DropBack, DropRepeat, DropConfirm, DropQuestion, DropLate,
}

// counts are the drops by reason.
type counts struct{ by [len(drops)]atomic.Uint64 }

func (c *counts) add(d Drop) {
	for i := range drops {
		if drops[i] == d {
			c.by[i].Add(1)
			return
		}
	}
}

func (c *counts) read() map[Drop]uint64 {
	out := map[Drop]uint64{}
	for i, d := range drops {
		if v := c.by[i].Load(); v > 0 {
			out[d] = v
		}
	}
	return out
}

// sent tells whether the message may have been handled elsewhere.
func (d Drop) sent() bool { return d == DropUnconfirmed || d == DropPoison || d == DropExpired }

// drop lets go of an accepted message: it is counted and logged here, its asker
// is told why, and the node's actor system makes it a dead letter.
func (r *shell[M]) drop(p parcel[M], why Drop, err error) {
	if p.abandoned(why, err) {
		return
	}
	if p.ticket != nil {
		r.confirms.add(p.ticket)
	}
	r.counts.add(why)
	r.complain.warn("message dropped", string(why), slog.String("to", r.Describe(p.id)), slog.Any("error", err))
	if !why.sent() && (p.ticket == nil || !p.ticket.repeat) {
		err = actor.Fated(err, actor.NotHandled)
	}
	_ = p.sealed(r.typ.Protocol) // only to find the asker; one whose request cannot travel gets no more than ErrNoReply
	if p.seal != nil && p.pending != nil {
		p.pending.Reject(r.refuse(p.id, err))
	}
	r.node.Home().System().Drop(actor.DeadLetter{To: r.Describe(p.id), Message: p.m, Reason: actor.Reason(why)})
}

// dropUnsent drops what a link will never take; nil means that it was sent.
func (r *shell[M]) dropUnsent(p parcel[M], err error) {
	if err != nil {
		r.drop(p, DropUnsent, err)
	}
}

// dropAll empties a queue.
func (r *shell[M]) dropAll(q *queue[M], why Drop, err error) {
	for q.len() > 0 {
		r.room.give()
		r.drop(q.pop(), why, err)
	}
}
