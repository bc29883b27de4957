package troupe

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/membership"
	"github.com/troupe-go/troupe/transport"
)

// redials dials, again and again, members to which the link broke, and now and
// then this node's own listener, and tells the owner goroutine what came of it.
// Its fields are the owner goroutine's.
type redials struct {
	isolation time.Duration // zero: nobody is dialed
	ctx       context.Context
	cancel    context.CancelFunc
	stop      map[ID]context.CancelFunc
	running   sync.WaitGroup
}

// start begins to mind the own listener.
func (r *redials) start(n *Node, s settings) {
	r.stop = map[ID]context.CancelFunc{}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	if !s.NoCrashDetection {
		r.isolation = s.Times.WithDefaults().Isolation
		r.running.Go(func() { n.mindListener(r.ctx, r.isolation) })
	}
}

const (
	redialsOften = 20              // attempts with a tenth of Times.Isolation between them; then half of it
	selfEvery    = 5 * time.Second // between two looks at the own listener
)

// follow starts and ends redials so that they are of exactly these members.
func (r *redials) follow(n *Node, suspects []ID) {
	for id, stop := range r.stop {
		if !slices.Contains(suspects, id) {
			stop()
			delete(r.stop, id)
		}
	}
	for _, id := range suspects {
		if r.stop[id] != nil {
			continue
		}
		ctx, stop := context.WithCancel(r.ctx)
		r.stop[id] = stop
		r.running.Go(func() { n.redial(ctx, id, r.isolation) })
	}
}

// end stops all and waits for them.
func (r *redials) end() {
	r.cancel()
	r.running.Wait()
}

func (n *Node) redial(ctx context.Context, id ID, isolation time.Duration) {
	for attempt := 0; ; attempt++ {
		if result := n.dial(ctx, id, isolation); ctx.Err() == nil { // one that was called off says nothing
			_ = n.tell(ctx, gossip.Dialed{Peer: id, Result: result})
		}
		gap := isolation / 10
		if attempt >= redialsOften {
			gap = isolation / 2
		}
		if !sleep(ctx, gap) {
			return
		}
	}
}

// dial makes one attempt to reach a node.
func (n *Node) dial(ctx context.Context, id ID, within time.Duration) gossip.DialResult {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	switch err := n.endpoint.Probe(ctx, id); {
	case err == nil:
		return gossip.Answered
	case !errors.Is(err, transport.ErrGone):
		return gossip.Silent
	case errors.Is(err, transport.ErrRefused):
		return gossip.Replaced
	default:
		return gossip.Refused
	}
}

// mindListener looks whether the own listener can be reached, as peers do. It
// says so only where it could be at first: behind some routers a node never
// reaches itself by the address that it advertises.
func (n *Node) mindListener(ctx context.Context, isolation time.Duration) {
	for reached := false; ; {
		gap := selfEvery
		result := n.dial(ctx, n.id, isolation)
		reached = reached || result == gossip.Answered
		if ctx.Err() == nil && reached {
			_ = n.tell(ctx, gossip.Dialed{Peer: n.id, Result: result})
			if result == gossip.Refused {
				gap = isolation / 10
			}
		}
		if !sleep(ctx, gap) {
			return
		}
	}
}

// sleep waits; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
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

// A Suspicion is what speaks for the crash of a member: broken links, refused
// attempts to reach it, and who has voted.
type Suspicion = membership.Suspicion

// Suspicions lists the members whose crash this node has reason to think of, in
// order of their identities. Silence alone is none: see [Node.Suspicion].
func (n *Node) Suspicions() (all []Suspicion) {
	n.onOwner(func() { all = n.core.Suspicions() })
	return all
}

// logCrash says what an operator wants to read later about how a crash was found out.
func (n *Node) logCrash(e Event) {
	switch e := e.(type) {
	case gossip.CrashVoted:
		if e.Withdrawn {
			n.log.Info("member takes back that another has crashed", slog.Any("by", e.By), slog.Any("suspect", e.Suspect))
			return
		}
		n.log.Info("member votes that another has crashed: its link broke and its address refuses",
			slog.Any("by", e.By), slog.Any("suspect", e.Suspect))
	case gossip.CrashConfirmed:
		n.log.Warn("crash confirmed by a majority of all members; the member is downed at once",
			slog.Any("suspect", e.Suspect), slog.Any("by", e.By), slog.Int("members", e.Members))
	case gossip.ListenerLost:
		n.log.Error("this node cannot reach its own listener any more, and nobody else can; it downs itself")
	}
}
