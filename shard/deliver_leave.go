package shard

import (
	"context"
	"log/slog"
	"time"
)

// leave is what the type does when its node leaves: it hands its shards over, then waits
// until others have confirmed what was told here. What they have not by the end of
// its time is named in the log, and becomes dead letters when the node ends.
func (r *shell[M]) leave(ctx context.Context) error {
	if err := r.control.leave(ctx); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok { // some of the time is left for those who come after
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)*3/4)
		defer cancel()
	}
	for {
		p := r.settled.join()
		n, shards := r.unconfirmed()
		if n == 0 {
			r.settled.leave(p)
			return nil
		}
		select {
		case <-p.called:
		case <-r.control.stopped:
			return ErrEnded
		case <-ctx.Done():
			r.settled.leave(p)
			r.log.Warn("messages told here are not confirmed, and this node cannot wait for longer: perhaps they are not handled",
				slog.Int("messages", n), slog.Any("shards", shards))
			return nil
		}
	}
}

// unconfirmed counts what others have not handled yet, and names some of the shards.
func (r *shell[M]) unconfirmed() (n int, some []string) {
	const few = 10
	for s := range r.allSlots() {
		s.mu.Lock()
		if waits := s.out.Waits(); waits > 0 {
			if n += waits; len(some) < few {
				some = append(some, s.shard)
			}
		}
		s.mu.Unlock()
	}
	return n, some
}
