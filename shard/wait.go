package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/actor"
)

// Home makes the door of entities a Host, so that asks reuse memory of the node's
// actor system.
func (r *shell[M]) Home() actor.Home { return r.node.Home() }

// DeliverWait is TellWait. For the mailbox of an entity on this node it waits in
// that mailbox's line; for a place in the buffer in the line of the buffer; and in a
// third one for a lane, or for what is older and still waits for a mailbox. Whoever
// is called delivers as if for the first time: by then the entity may live elsewhere.
func (r *shell[M]) DeliverWait(ctx context.Context, id string, m M) error {
	err := r.Deliver(ctx, id, m)
	for errors.Is(err, actor.ErrFull) {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", err, ctx.Err())
		}
		if _, cell := r.way(id); cell != nil {
			if err = r.deliverWait(ctx, cell, id, m); !errors.Is(err, actor.ErrStopped) {
				return r.refuse(id, err)
			}
			err = r.Deliver(ctx, id, m)
		} else {
			err = r.deliverInLine(ctx, id, m, err)
		}
	}
	return err
}

// deliverInLine waits once for what the last attempt failed by, and tries again.
func (r *shell[M]) deliverInLine(ctx context.Context, id string, m M, failed error) error {
	line := &r.stuck
	if full := (*FullError)(nil); errors.As(failed, &full) {
		line = &r.room.line
	}
	p := line.join()
	err := r.Deliver(ctx, id, m) // what it waits for may have come before it was in line
	if errors.Is(err, actor.ErrFull) {
		if line == &r.stuck {
			r.control.retry()
		}
		select {
		case <-p.called:
		case <-r.control.stopped:
		case <-ctx.Done():
		}
		err = r.Deliver(ctx, id, m)
	}
	if line.leave(p) && !errors.Is(err, actor.ErrFull) {
		line.call(1) // perhaps there was more, or nothing was taken
	}
	return err
}

// deliverWait waits for room in a mailbox.
func (r *shell[M]) deliverWait(ctx context.Context, cell *actor.Cell[M], id string, m M) error {
	if r.roundtrip {
		var err error
		if m, err = r.typ.Protocol.Roundtrip(m); err != nil {
			return err
		}
	}
	return cell.DeliverWait(ctx, id, m)
}

// A line is those who wait, first come first called.
type line struct {
	length  atomic.Int32
	mu      sync.Mutex
	waiting []*inLine
}

// inLine is a place in a line.
type inLine struct{ called chan struct{} } // closed by the call

func (l *line) join() *inLine {
	p := &inLine{make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, p)
	l.length.Add(1)
	return p
}

// leave gives up a place and tells whether it had been called.
func (l *line) leave(p *inLine) (called bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, p)
	if i < 0 {
		return true
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	l.length.Add(-1)
	return false
}

// call calls the first n. It costs a look when nobody waits.
func (l *line) call(n int) {
	if l.length.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n = min(n, len(l.waiting))
	for _, p := range l.waiting[:n] {
		close(p.called)
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
	l.length.Add(int32(-n))
}
