package troupe

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
)

const (
	seekEvery  = time.Second      // until this node is a member
	seekAgain  = 15 * time.Second // later: who should be in the cluster and is not?
	seekWithin = 3 * time.Second  // one look-up, or one question to the store
)

// join begins to join: through the store, contacts or seeds, or by founding a
// cluster.
func (n *Node) join() {
	switch {
	case n.cfg.Store != nil:
		e := newEnrolment(n)
		n.seeker.start(e.attend)
		n.seeker.leave = e.leave
	case n.cfg.Contacts != nil:
		n.seeker.start(n.seekContacts)
	case len(n.cfg.seeds) == 0:
		n.inputs <- gossip.JoinAddress{Address: n.id.Address}
	default:
		n.inputs <- gossip.JoinSeeds{Seeds: n.cfg.seeds}
	}
}

// A seeker looks for nodes that are or should be in the cluster, as long as its
// node runs. It is one goroutine; the node waits for it at its end.
type seeker struct {
	cancel  context.CancelFunc // nil until started
	running sync.WaitGroup
	leave   func(context.Context) error // nil: there is nothing to leave

	storeTrouble atomic.Pointer[trouble] // nil: the store answers, or there is none

	contacts []Address // that were found last; owned by the goroutine, as is said
	said     string    // the last trouble in the log
}

// start calls look until the seeker ends, each time after the pause that the last
// call gave.
func (s *seeker) start(look func(context.Context) (pause time.Duration)) {
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.running.Go(func() {
		for ctx.Err() == nil {
			select {
			case <-time.After(look(ctx)):
			case <-ctx.Done():
			}
		}
	})
}

// endSeeking waits for what runs. A node that does not crash frees its place, if it
// can before ctx ends.
func (n *Node) endSeeking(ctx context.Context, crash bool) {
	s := &n.seeker
	if s.cancel == nil {
		return
	}
	s.cancel()
	s.running.Wait()
	s.storeTrouble.Store(nil)
	if s.leave == nil || crash {
		return
	}
	if err := s.leave(ctx); err != nil {
		n.log.Warn("this node's row stays in the store until it runs out", slog.Any("error", err))
	}
}

// seekContacts tells the membership which contacts there are.
func (n *Node) seekContacts(ctx context.Context) time.Duration {
	found := n.listed(ctx)
	_ = n.tell(ctx, gossip.JoinContacts{Contacts: found, Required: n.cfg.RequiredContacts}) // fails only at the end
	if _, joined := n.View().SelfMember(); joined {
		return seekAgain
	}
	return seekEvery
}

// listed are the nodes that the configuration leads to. When they cannot be
// found now, the last ones have to do.
func (n *Node) listed(ctx context.Context) []Address {
	if n.cfg.Contacts == nil {
		return n.cfg.seeds
	}
	ctx, cancel := context.WithTimeout(ctx, seekWithin)
	defer cancel()
	found, err := n.cfg.Contacts.Find(ctx)
	if err != nil {
		if text := err.Error(); text != n.seeker.said {
			n.seeker.said = text
			n.log.Warn("contacts were not found; those of the last time have to do", slog.Any("error", err))
		}
		return n.seeker.contacts
	}
	n.seeker.contacts, n.seeker.said = found, ""
	return found
}
