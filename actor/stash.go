package actor

// Stash sets the message in hand aside until Unstash; doing it twice is doing it once. ErrStashFull leaves it in
// hand; ErrNoMessage means that there is none. Stashed messages survive a restart: they come back before the mailbox.
func (c *Ctx[M]) Stash() error {
	cell := c.cell
	if cell.at == nil {
		return ErrNoMessage
	}
	o := cell.owned()
	if cell.at.note == cell.kind.stashed {
		return nil
	}
	if len(o.stash) >= cell.kind.stash {
		return ErrStashFull
	}
	o.stash = append(o.stash, slot[M]{m: cell.at.m, note: cell.at.note})
	cell.at.note = cell.kind.stashed
	return nil
}

// Unstash has all stashed messages handled next, in the order in which they were stashed, before what is in the mailbox.
func (c *Ctx[M]) Unstash() { c.cell.unstash() }

func (c *Cell[M]) unstash() {
	if c.own == nil || len(c.own.stash) == 0 {
		return
	}
	stash := c.own.stash
	c.own.stash = nil
	c.hand = &chunk[M]{next: c.hand, w: int32(len(stash)), slots: stash}
}
