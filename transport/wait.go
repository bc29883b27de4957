package transport

import (
	"context"
	"net"
	"time"
)

// signal wakes the one goroutine that waits on a channel of capacity one; a
// second signal before it looks is the same signal. A nil channel is nobody.
func signal(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// closed tells whether a channel that is only ever closed is.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// pause waits for d; false means ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// hangUp closes a connection that has nothing more to say; an error of Close
// would change nothing for anybody.
func hangUp(conn net.Conn) { _ = conn.Close() }
