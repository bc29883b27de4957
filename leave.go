package troupe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
)

const (
	// handOverWithin bounds what components may take to hand over, together.
	handOverWithin = 20 * time.Second // see Node.OnLeave
	// stopWithin bounds how long actors may take to stop when the node ends.
	stopWithin = 5 * time.Second
	// flushWithin bounds the writing of what is queued when the links close.
	flushWithin = 2 * time.Second
)

// Leave makes the node leave gracefully: components hand over what they have
// here, the cluster removes the node, actors stop and links close. It returns
// when all is quiet. When a component could not hand over within 20 seconds the node
// downs itself instead, and the error says what was left. When ctx ends first the
// node ends at once, as by [Node.Kill], and the error is ctx's.
func (n *Node) Leave(ctx context.Context) error {
	if err := n.tell(ctx, gossip.Leave{Address: n.id.Address}); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	select {
	case <-n.done:
		if n.err != nil {
			return fmt.Errorf("leave: %w", n.err)
		}
		return nil
	case <-ctx.Done():
		n.Kill()
		return fmt.Errorf("leave: %w", ctx.Err())
	}
}

// LeaveMember makes the member at an address leave gracefully. It returns when
// this node has taken note; the rest happens by gossip.
func (n *Node) LeaveMember(ctx context.Context, a Address) error {
	return n.tell(ctx, gossip.Leave{Address: a})
}

// Down declares the member at an address dead, by hand. It returns when this
// node has taken note; the rest happens by gossip.
func (n *Node) Down(ctx context.Context, a Address) error {
	return n.tell(ctx, gossip.Down{Address: a})
}

// JoinThrough makes this node join the cluster of the node at an address, in
// place of what its configuration says; its own address founds one. A node that
// is a member stays what it is. It returns when this node has taken note.
func (n *Node) JoinThrough(ctx context.Context, a Address) error {
	return n.tell(ctx, gossip.JoinAddress{Address: a})
}

// PrepareClusterShutdown announces that the whole cluster is about to stop: no
// node joins or comes up any more, nothing is moved, and nobody is downed, so that
// all nodes can be stopped in any order. It is not taken back: to go on, start all
// nodes anew. It returns when this node has taken note; the rest happens by gossip.
func (n *Node) PrepareClusterShutdown(ctx context.Context) error {
	return n.tell(ctx, gossip.PrepareShutdown{})
}

// tell hands an input to the owner goroutine; once the node is ending that is no error.
func (n *Node) tell(ctx context.Context, in gossip.Input) error {
	select {
	case n.inputs <- in:
		return nil
	case <-n.ending:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Kill ends the node at once and without a word to the others, as a crash of
// its process would, and returns when all is quiet. It is for tests and last resorts.
func (n *Node) Kill() {
	n.killOnce.Do(func() { close(n.kill) })
	<-n.done
}

// handOver runs the components' leave tasks once, and then lets the core know.
type handOver struct {
	once   sync.Once
	cancel context.CancelFunc
	done   chan struct{} // nil until started
	err    error         // what was not handed over; readable once done is closed
}

func (h *handOver) start(n *Node) {
	h.once.Do(func() {
		var ctx context.Context
		ctx, h.cancel = context.WithTimeout(context.Background(), handOverWithin)
		h.done = make(chan struct{})
		go func() {
			defer close(h.done)
			defer h.cancel()
			var then gossip.Input = gossip.ExitDone{}
			if h.err = n.runLeaveTasks(ctx); h.err != nil {
				then = gossip.Down{Address: n.id.Address} // peers must not take over before their margin
			}
			_ = n.tell(context.Background(), then) // the tasks' time may be over
		}()
	})
}

func (n *Node) runLeaveTasks(ctx context.Context) error {
	leave := n.tasks.takeLeave()
	problems := make([]error, len(leave))
	var all sync.WaitGroup
	for i, t := range leave {
		all.Go(func() {
			began := time.Now()
			err := t.run(ctx)
			log := n.log.With(slog.String("component", t.name), slog.Duration("took", time.Since(began)))
			if err != nil {
				log.Warn("not all was handed over", slog.Any("error", err))
				problems[i] = fmt.Errorf("hand over %s: %w", t.name, err)
				return
			}
			log.Info("handed over")
		})
	}
	all.Wait()
	return errors.Join(problems...)
}

// end makes everything quiet, entities first, links last. It is the last act
// of the owner goroutine.
func (n *Node) end(why error) {
	n.err = why
	close(n.ending)
	if why != nil {
		n.log.Error("this node ends", slog.Any("error", why))
	}
	for _, t := range n.tasks.takeEnd() {
		t.run()
	}
	if n.leave.done != nil {
		n.leave.cancel()
		<-n.leave.done
		n.err = errors.Join(n.err, n.leave.err)
	}
	n.redials.end()
	n.replies.reject(func(ID) bool { return true }, errEnded)
	if err := within(stopWithin, n.system.Stop); err != nil {
		n.log.Error("actors did not stop in time", slog.Any("error", err))
	}
	n.loopback.close()
	flush := flushWithin
	if errors.Is(why, ErrKilled) {
		flush = 0
	}
	if err := within(flush, n.endpoint.Close); err != nil && flush > 0 {
		n.log.Warn("links did not close in time", slog.Any("error", err))
	}
}

func within(d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return f(ctx)
}
