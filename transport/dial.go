package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

const (
	stagger   = 250 * time.Millisecond // before the next place of a name is tried too
	maxPlaces = 8                      // of one name
)

// dial makes an accepted connection to a node, or to whoever is at the address
// if to has no UID. Names are looked up at every attempt.
func (e *endpoint) dial(ctx context.Context, to member.ID, lane Lane, round uint64) (net.Conn, answer, error) {
	e.count.dials.Add(1)
	h := hello{
		lowest: lowestVersion, highest: highestVersion, cluster: e.cfg.Cluster, from: e.self, to: to,
		lane: lane, round: round, maxFrame: uint32(e.cfg.MaxFrame),
	}
	var a answer
	conn, err := e.firstOf(ctx, to.Address, func(conn net.Conn) (ch *channel, err error) {
		ch, a, err = e.greet(ctx, conn, h)
		return ch, err
	})
	if err != nil {
		e.count.dialErrors.Add(1)
		return nil, answer{}, fmt.Errorf("dial %v: %w", to.Address, err)
	}
	return conn, a, nil
}

// firstOf connects to the places of an address, each a little after the one
// before, and gives the first connection whose greeting succeeds: a name may have
// places that lead nowhere (MEM-13), or to somebody else. Connections are greeted
// one at a time, so that a node with two places is not greeted twice.
func (e *endpoint) firstOf(ctx context.Context, to member.Address, greet func(net.Conn) (*channel, error)) (*channel, error) {
	places, err := e.places(ctx, to)
	if err != nil {
		return nil, err
	}
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result, len(places))
	running := 0
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		for range running {
			if r := <-results; r.err == nil {
				hangUp(r.conn)
			}
		}
	}()
	next := time.NewTimer(stagger)
	defer next.Stop()
	begin := func() {
		if len(places) == 0 {
			return
		}
		place := places[0]
		places = places[1:]
		running++
		go func() {
			conn, err := e.connect(ctx, place)
			results <- result{conn, err}
		}()
		next.Reset(stagger)
	}
	begin()
	for running > 0 {
		select {
		case <-next.C:
			begin()
		case r := <-results:
			running--
			if r.err == nil {
				var ch *channel
				if ch, r.err = greet(r.conn); r.err == nil {
					return ch, nil
				}
				hangUp(r.conn)
			}
			err = telling(err, r.err)
			if running == 0 {
				begin()
			}
		}
	}
	return nil, err
}

// telling chooses between the errors of two places: a peer's refusal says more
// than silence, and else the later one stands.
func telling(before, now error) error {
	if errors.Is(before, ErrRefused) && !errors.Is(now, ErrRefused) {
		return before
	}
	return now
}

func (e *endpoint) places(ctx context.Context, of member.Address) ([]member.Address, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.DialTimeout)
	defer cancel()
	places, err := e.net.places(ctx, of)
	return places[:min(len(places), maxPlaces)], err
}

func (e *endpoint) connect(ctx context.Context, place member.Address) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.DialTimeout)
	defer cancel()
	return e.net.dial(ctx, place)
}

// bare greets nobody: it is enough that somebody listens.
func bare(conn net.Conn) (*channel, error) { return &channel{Conn: conn, bare: conn}, nil }

// greet makes a stream fit and shakes hands on it.
func (e *endpoint) greet(ctx context.Context, conn net.Conn, h hello) (*channel, answer, error) {
	defer context.AfterFunc(ctx, func() { hangUp(conn) })()
	if err := conn.SetDeadline(time.Now().Add(e.cfg.HandshakeTimeout)); err != nil {
		return nil, answer{}, err
	}
	ch, err := e.guard.dial(conn, h.to.Host)
	if err != nil {
		return nil, answer{}, err
	}
	h.proof = e.cfg.Secret.prove(roleDials, ch.binding, h.said())
	if _, err := ch.Write(h.encode()); err != nil {
		return nil, answer{}, fmt.Errorf("handshake: %w", err)
	}
	a, err := readAnswer(ch)
	if err != nil {
		return nil, answer{}, fmt.Errorf("handshake: %w", err)
	}
	if err := e.judge(a, h, ch); err != nil {
		return nil, answer{}, err
	}
	return ch, a, conn.SetDeadline(time.Time{})
}

// judge decides on an answer. Only who has proved the secret is believed when it
// refuses for good: else anybody in the middle could tell a node that it was
// removed.
func (e *endpoint) judge(a answer, h hello, ch *channel) error {
	proven := e.cfg.Secret == "" || e.cfg.Secret.proven(a.proof, roleAccepts, ch.binding, h.said(), a.said())
	switch {
	case !proven && a.refusal != RefusedSecret:
		return fmt.Errorf("handshake: %v %w", h.to.Address, errSecret)
	case a.refusal != 0:
		e.count.refusedBy[a.refusal.known()].Add(1)
		return &RefusedError{Dialed: h.to, Peer: a.from, Reason: a.refusal, Text: a.text}
	}
	if err := check(a, e.cfg.Cluster, h.to); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	return nil
}
