package actor

// A Receipt goes with one message through its cell, for packages that must know what became of it. It costs nothing
// to messages that have none.
type Receipt interface {
	// Handled is called on the actor, once, when nobody needs the message any more: its behavior has returned, with whatever
	// result, or its Loop has asked for the next one. What is stashed is handled when it was unstashed and handled. Messages
	// that an ending cell hands to its owner (see [CellConfig].Ended) are not handled; their receipts go with them.
	Handled()
}

// Leftover is a message that an ended cell has not handled, and the receipt that it came with, nil if none.
type Leftover[M any] struct {
	Message M
	Receipt Receipt
}

// DeliverWith is [Cell.Deliver] with a receipt. After an error nobody calls it.
func (c *Cell[M]) DeliverWith(m M, r Receipt) error {
	if c.kind.roundtrip != nil {
		var err error
		if m, err = c.roundtrip(m); err != nil {
			return err
		}
	}
	n, ok := c.kind.receipts.Get().(*note[M])
	if !ok {
		n = new(note[M])
	}
	n.receipt = r
	c.mu.Lock()
	return c.acceptLocked(m, n)
}

// Receipt is what the message in hand came with, nil if it has none or there is no message in hand. It belongs to the
// actor, like most methods of its Ctx.
func (c *Cell[M]) Receipt() Receipt {
	switch s := c.at; {
	case s == nil || s.note == nil:
		return nil
	case s.note == c.kind.stashed: // it is the last in the stash, unless that was let go since
		if len(c.own.stash) == 0 {
			return nil
		}
		return c.own.stash[len(c.own.stash)-1].receipt()
	default:
		return s.receipt()
	}
}

func (s *slot[M]) receipt() Receipt {
	if s.note == nil {
		return nil
	}
	return s.note.receipt
}

// done lets go of the message in hand, if there is one.
func (c *Cell[M]) done() {
	s := c.at
	c.at = nil
	if s == nil || s.note == nil || s.note.receipt == nil {
		return
	}
	n := s.note
	s.note = nil
	r := n.receipt
	n.receipt = nil
	c.kind.receipts.Put(n)
	r.Handled()
}
