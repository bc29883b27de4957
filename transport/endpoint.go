package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/seldom"
)

const (
	closeGrace  = time.Second            // for handlers to return after Close's ctx ended
	goodbyeTime = 500 * time.Millisecond // to tell a peer why its connection ends
)

// A network is what an endpoint gets its streams from. A place is an address
// that can be dialed as it is, without looking up a name.
type network interface {
	listen(ctx context.Context, at member.Address) (net.Listener, member.Address, error)
	places(ctx context.Context, of member.Address) ([]member.Address, error)
	dial(ctx context.Context, place member.Address) (net.Conn, error)
}

// An endpoint holds a node's links by peer and the connections that peers made.
//
// The map of links is copied on write: Send reads it without a lock. The mutex
// guards what changes with links and connections; it is never held while
// something blocks or a handler runs.
type endpoint struct {
	cfg      Config
	self     member.ID
	net      network
	guard    *guard
	handler  Handler
	log      *slog.Logger
	count    counters
	segments segments
	rounds   atomic.Uint64 // numbers the rounds of all links

	links atomic.Pointer[map[member.ID]*link] // UID 0: to whoever is at the address

	mu          sync.Mutex          // guards the rest, and writing links
	closing     bool                // nothing new
	deaf        bool                // and nobody is answered any more
	draining    map[member.ID]*link // ended by Disconnect, not yet gone
	quarantined idSet
	lines       map[lineKey]*line
	lobby       lobby

	hard      context.Context // over: stop without ceremony
	stop      context.CancelCauseFunc
	out, in   sync.WaitGroup // links; accepted connections
	renewing  sync.WaitGroup // of certificates
	accepting chan struct{}  // closed when the accept loop has ended
	listener  net.Listener
	refusals  *seldom.Filter[Refusal] // in the log
	closed    chan struct{}           // Close has ended, with closeErr
	closeErr  error
}

// listen opens an endpoint on a network.
func listen(ctx context.Context, cfg Config, n network, h Handler) (*endpoint, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	l, bound, err := n.listen(ctx, cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("transport: listen on %v: %w", cfg.Listen, err)
	}
	address, err := cfg.advertised(bound)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	self := member.ID{Address: address, UID: cfg.UID}
	log := cfg.Log.With("transport", self.String())
	g, err := newGuard(&cfg, address.Host, log)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	e := &endpoint{
		cfg: cfg, self: self, net: n, guard: g, handler: h, log: log,
		draining: make(map[member.ID]*link), lines: make(map[lineKey]*line),
		refusals: seldom.New[Refusal](refusalPause), listener: l, accepting: make(chan struct{}), closed: make(chan struct{}),
	}
	e.links.Store(&map[member.ID]*link{})
	e.hard, e.stop = context.WithCancelCause(context.Background())
	if g.certs != nil {
		e.renewing.Go(func() { g.certs.keep(e.hard) })
	}
	go e.accept()
	return e, nil
}

func (e *endpoint) Self() member.ID { return e.self }

func (e *endpoint) Send(to member.ID, lane Lane, payload []byte) error {
	if err := e.mayCarry(to, lane); err != nil {
		return err
	}
	_, err := e.offer(to, lane, payload)
	return e.counted(err)
}

func (e *endpoint) SendWait(ctx context.Context, to member.ID, lane Lane, payload []byte) error {
	if err := e.mayCarry(to, lane); err != nil {
		return err
	}
	for {
		l, err := e.offer(to, lane, payload)
		if _, full := errors.AsType[*FullError](err); !full {
			return err
		}
		room := l.lanes[lane.Base()].roomFor(lane.stream(), payload)
		if room == nil {
			continue
		}
		select {
		case <-room:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", e.counted(err), ctx.Err())
		}
	}
}

func (e *endpoint) SendAddress(to member.Address, payload []byte) error {
	_, err := e.offer(member.ID{Address: to}, Control, payload)
	return e.counted(err)
}

func (e *endpoint) mayCarry(to member.ID, lane Lane) error {
	if to.UID == 0 {
		return fmt.Errorf("transport: send to %v: no incarnation given; SendAddress goes to whoever is there", to.Address)
	}
	if int(lane.Base()) > e.cfg.Lanes {
		return fmt.Errorf("%w: %v of %d", ErrLane, lane, e.cfg.Lanes)
	}
	return nil
}

// counted counts a refusal for want of room, which is one once the caller gets it.
func (e *endpoint) counted(err error) error {
	if _, full := errors.AsType[*FullError](err); full {
		e.count.rejected[rejectFull].Add(1)
	}
	return err
}

// offer puts a frame into the queue of a link; it gives the one that took or
// refused it.
func (e *endpoint) offer(to member.ID, lane Lane, payload []byte) (*link, error) {
	if len(payload) > e.cfg.MaxFrame {
		e.count.rejected[rejectTooLarge].Add(1)
		return nil, &TooLargeError{Size: len(payload), Limit: e.cfg.MaxFrame, Setting: "Config.MaxFrame"}
	}
	l := (*e.links.Load())[to]
	for {
		if l != nil {
			if late, err := l.push(lane, payload); !late {
				return l, err
			}
		}
		var err error
		if l, err = e.open(to); err != nil {
			return nil, err
		}
	}
}

// open finds or makes the link to a node.
func (e *endpoint) open(to member.ID) (*link, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closing:
		return nil, ErrClosed
	case to == e.self, to.UID == 0 && to.Address == e.self.Address:
		return nil, ErrSelf
	case e.quarantined.has(to):
		return nil, fmt.Errorf("%w: %v", ErrQuarantined, to)
	}
	if l := (*e.links.Load())[to]; l != nil {
		return l, nil
	}
	if a, err := member.ParseAddress(to.Address.String()); err != nil {
		return nil, fmt.Errorf("transport: send: %w", err)
	} else if a != to.Address {
		return nil, fmt.Errorf("transport: send to %v: the canonical form of this address is %v", to.Address, a)
	}
	before := e.draining[to]
	l := newLink(e, to, before)
	e.setLinks(func(m map[member.ID]*link) { m[to] = l })
	e.out.Go(func() { l.run(before) })
	return l, nil
}

// setLinks publishes a changed copy of the links. The caller holds mu.
func (e *endpoint) setLinks(change func(map[member.ID]*link)) {
	m := maps.Clone(*e.links.Load())
	change(m)
	e.links.Store(&m)
}

func (e *endpoint) Quarantine(id member.ID) {
	if id.UID == 0 || id == e.self {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.quarantined.add(id)
	for _, l := range []*link{(*e.links.Load())[id], e.draining[id]} {
		for ; l != nil; l = l.after {
			l.cut(ErrQuarantined)
		}
	}
	e.setLinks(func(m map[member.ID]*link) { delete(m, id) })
	e.endInbound(id, RefusedQuarantined)
}

func (e *endpoint) Disconnect(id member.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := (*e.links.Load())[id]
	if l == nil {
		e.endInbound(id, RefusedClosing)
		return
	}
	e.setLinks(func(m map[member.ID]*link) { delete(m, id) })
	e.draining[id] = l
	l.finish(ErrDisconnected)
}

// retire forgets a link that has nothing to send; false means that it has.
func (e *endpoint) retire(l *link) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if closed(l.finishing) {
		return true
	}
	if !l.endIfEmpty() {
		return false
	}
	e.setLinks(func(m map[member.ID]*link) { delete(m, l.to) })
	e.draining[l.to] = l
	l.finish(nil)
	return true
}

// succeeded forgets the link before l, which has ended.
func (e *endpoint) succeeded(l *link) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l.after = nil
}

// gone is the last word of a link.
func (e *endpoint) gone(l *link) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining[l.to] == l {
		delete(e.draining, l.to)
	}
	if errors.Is(l.why(), ErrDisconnected) {
		e.endInbound(l.to, RefusedClosing)
	}
}

func (e *endpoint) Stats() Stats {
	s := e.count.snapshot()
	s.Security = e.guard.String()
	if e.guard.certs != nil {
		s.Certificate = e.guard.certs.stats(time.Now())
	}
	for _, l := range *e.links.Load() {
		s.Links = append(s.Links, l.stats())
	}
	s.Links = sortLinks(s.Links)
	return s
}

func (e *endpoint) Close(ctx context.Context) error {
	e.mu.Lock()
	first := !e.closing
	e.closing = true
	e.mu.Unlock()
	if first {
		e.closeErr = e.shut(ctx)
		close(e.closed)
	}
	<-e.closed // bounded by the first caller's ctx and closeGrace
	return e.closeErr
}

// shut closes in order: what is queued goes out, links end, accepted
// connections end, and the listener closes last, because a closed port is how
// peers tell a dead node from a silent one.
func (e *endpoint) shut(ctx context.Context) error {
	if ctx.Err() != nil {
		e.stop(ErrClosed)
	}
	e.mu.Lock()
	for _, l := range *e.links.Load() {
		l.finish(ErrClosed)
	}
	e.mu.Unlock()
	linksEnded := ended(&e.out)
	select {
	case <-linksEnded:
	case <-ctx.Done():
		e.stop(ErrClosed)
	}

	e.mu.Lock()
	e.deaf = true
	e.endInbound(member.ID{}, RefusedClosing)
	e.mu.Unlock()
	inboundEnded := ended(&e.in)
	goodbyes := time.NewTimer(goodbyeTime)
	defer goodbyes.Stop()
	select {
	case <-inboundEnded:
	case <-goodbyes.C: // a connection in its handshake, a handler that is slow
	case <-ctx.Done():
	}
	e.stop(ErrClosed)
	err := e.listener.Close()
	<-e.accepting
	return errors.Join(err, quiet(ctx, linksEnded, inboundEnded, ended(&e.renewing)))
}

// quiet waits for goroutines that have no stream left and only a handler, or the
// reading of a file, to wait for, until ctx is over for closeGrace.
func quiet(ctx context.Context, groups ...<-chan struct{}) error {
	over, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if pause(over, closeGrace) {
			cancel()
		}
	})()
	for _, group := range groups {
		select {
		case <-group:
		case <-over.Done():
			return fmt.Errorf("transport: close: a Handler has not returned: %w", context.Cause(ctx))
		}
	}
	return nil
}

// ended gives a channel that closes when a group's goroutines have ended.
func ended(g *sync.WaitGroup) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		g.Wait()
		close(c)
	}()
	return c
}
