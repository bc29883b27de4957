package actor

import "fmt"

// watchable is a door to an actor of this process.
type watchable interface {
	watched() *core
}

func (c *Cell[M]) watched() *core { return &c.core }

// Watch has m told to the actor of c when that of ref has ended: once, behind everything that it told before it
// ended, and at once if it has ended already. The notice belongs to the incarnation that watches: it needs no bound and no undoing. A ref that
// leads elsewhere than to a local actor gives ErrNotWatchable; ErrStopped means that the incarnation is itself ending.
func Watch[M, N any](c *Ctx[M], ref Ref[N], m M) error {
	w, ok := ref.door.(watchable)
	if !ok {
		return fmt.Errorf("watch %s: %w", ref, ErrNotWatchable)
	}
	cell := c.cell
	if cell.phase >= unwinding {
		return &refusal{to: &cell.core, err: ErrStopped}
	}
	target := w.watched()
	n := &note[M]{life: c, msg: m}
	cell.owned().notes.add(n)
	if e := target.onEnd(func() { cell.post(n, 0) }); e != nil {
		n.forget = func() { target.forget(e) }
	}
	return nil
}
