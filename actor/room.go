package actor

import (
	"context"
	"errors"
)

// A PatientDoor is a [Door] whose recipients can be waited for while they have no room. What embeds or wraps a door should
// offer it if the door does.
type PatientDoor[M any] interface {
	Door[M]
	// DeliverWait is Deliver, except that it waits while the recipient is full, until ctx ends at the latest. Its error then wraps
	// both ErrFull, with the setting that bounds the recipient, and the error of ctx.
	DeliverWait(ctx context.Context, key string, m M) error
}

// TellWait is Tell with patience: while the mailbox is full it waits, behind those who came before it, and m is accepted as
// soon as the actor has worked off half of its mailbox. An error means certainly not accepted: ErrStopped as soon as the
// actor takes no more messages; ErrFull together with the context's error when ctx ends first, which is looked at only while there is no room.
// A door that is no [PatientDoor] does not wait: that is ErrFull at once.
//
// A behavior may use it: it blocks its own actor and no other. Actors that wait for room in each other's mailboxes, or in
// their own, do so until their contexts end, so give them a deadline.
func (r Ref[M]) TellWait(ctx context.Context, m M) error {
	switch d := r.door.(type) {
	case *Cell[M]: // as in Tell
		return d.acceptWait(ctx, m)
	case nil:
		return ErrStopped
	default:
		err := d.Deliver(ctx, r.key, m)
		if err == nil || !errors.Is(err, ErrFull) {
			return err
		}
		if patient, ok := d.(PatientDoor[M]); ok { // asked for only now, for it costs as much as a message
			err = patient.DeliverWait(ctx, r.key, m)
		}
		return err
	}
}

// waiter is somebody who waits for room, and his message.
type waiter[M any] struct {
	m       M
	outcome chan error // one, when he has left the line
}

// DeliverWait implements [PatientDoor]; see [Ref.TellWait].
func (c *Cell[M]) DeliverWait(ctx context.Context, _ string, m M) error { return c.acceptWait(ctx, m) }

func (c *Cell[M]) acceptWait(ctx context.Context, m M) error {
	if c.kind.roundtrip != nil {
		var err error
		if m, err = c.roundtrip(m); err != nil {
			return err
		}
	}
	c.mu.Lock()
	if c.closed || c.hasRoom() {
		return c.acceptLocked(m, nil)
	}
	return c.stand(ctx, m)
}

// stand has the caller stand in line until he is called, or has enough of it. It lets go of mu, which is held.
func (c *Cell[M]) stand(ctx context.Context, m M) error {
	w := &waiter[M]{m, make(chan error, 1)}
	place := c.family().line.PushBack(w)
	c.crowded = true
	c.mu.Unlock()
	select {
	case err := <-w.outcome:
		return err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case err := <-w.outcome: // he was called meanwhile
		return err
	default:
		c.kin.line.Remove(place)
		c.crowded = c.kin.line.Len() > 0
		return &refusal{to: &c.core, limit: c.kind.mailbox, err: ErrFull, cause: ctx.Err()}
	}
}

// hasRoom tells whether the mailbox takes a message of somebody who does not stand in line; mu is held.
func (c *Cell[M]) hasRoom() bool { return !c.crowded && int(c.waiting) < c.kind.mailbox }

// callLine lets those who wait in while there is room. It does so only when half of the mailbox is free: then each of them
// can send many messages before he must wait again, and the actor handles many before it wakes somebody. mu is held.
func (c *Cell[M]) callLine() {
	limit := c.kind.mailbox
	if int(c.waiting) > limit/2 {
		return
	}
	line := &c.kin.line
	for e := line.Front(); e != nil && int(c.waiting) < limit; e = line.Front() {
		w := line.Remove(e).(*waiter[M])
		c.waiting++
		c.box.push(c.kind.chunks, w.m, nil)
		w.outcome <- nil
	}
	c.crowded = line.Len() > 0
}

// closeLocked takes no more messages from here on; mu is held.
func (c *Cell[M]) closeLocked() {
	c.closed = true
	if !c.crowded {
		return
	}
	c.crowded = false
	for line := &c.kin.line; line.Len() > 0; {
		w := line.Remove(line.Front()).(*waiter[M])
		w.outcome <- c.refuse()
	}
}
