package transport

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A Memory is a network inside one process, for tests: the same links as over
// TCP, on streams that live in memory. It waits on channels and timers alone, so
// it runs in testing/synctest. All methods are safe for concurrent use.
//
// Faults are those of a real network between hosts. A cut direction loses
// nothing and delivers nothing: bytes wait, as TCP sends them again and again,
// and dials do not come through; both ends notice only by their own time-outs.
type Memory struct {
	mu        sync.Mutex
	listeners map[member.Address]*memListener
	ways      map[way]condition
	conns     map[*memConn]struct{}
	port      int
	changed   chan struct{} // closed and replaced when a listener or a way changes
}

// A way is one direction between two addresses.
type way struct{ from, to member.Address }

// A condition is what a way does to bytes; the zero value is a perfect one.
type condition struct {
	cut     bool
	refused bool
	delay   time.Duration
}

// NewMemory makes a network without nodes and without faults.
func NewMemory() *Memory {
	return &Memory{
		listeners: make(map[member.Address]*memListener),
		ways:      make(map[way]condition),
		conns:     make(map[*memConn]struct{}),
		port:      10000,
		changed:   make(chan struct{}),
	}
}

// Listen opens an endpoint on this network; see [Transport]. Port 0 takes one
// that was never used.
func (m *Memory) Listen(ctx context.Context, cfg Config, h Handler) (Endpoint, error) {
	e, err := listen(ctx, cfg, &memNetwork{memory: m}, h)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Cut stops everything on the way from one address to another; the addresses
// are those that nodes listen on.
func (m *Memory) Cut(from, to member.Address) {
	m.change(from, to, func(c *condition) { c.cut = true })
}

// Refuse makes attempts to connect from one address to another be refused, as a
// dead process does or a firewall in its name; connections that are there stay,
// see Reset.
func (m *Memory) Refuse(from, to member.Address) {
	m.change(from, to, func(c *condition) { c.refused = true })
}

// Heal undoes Cut and Refuse; what waited is delivered.
func (m *Memory) Heal(from, to member.Address) {
	m.change(from, to, func(c *condition) { c.cut, c.refused = false, false })
}

// Delay makes everything that is sent from one address to another from now on
// arrive so much later; order stays.
func (m *Memory) Delay(from, to member.Address, d time.Duration) {
	m.change(from, to, func(c *condition) { c.delay = d })
}

// Reset breaks all connections between two addresses, at both ends at once; what
// was under way is lost.
func (m *Memory) Reset(a, b member.Address) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for c := range m.conns {
		if c.out.way == (way{a, b}) || c.out.way == (way{b, a}) {
			c.out.reset()
			c.in.reset()
		}
	}
}

func (m *Memory) change(from, to member.Address, f func(*condition)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := way{from, to}
	c := m.ways[w]
	f(&c)
	if c == (condition{}) {
		delete(m.ways, w)
	} else {
		m.ways[w] = c
	}
	for conn := range m.conns {
		if conn.out.way == w {
			conn.out.set(c)
		}
	}
	m.announce()
}

// announce wakes those who wait for a change; the caller holds mu.
func (m *Memory) announce() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// bind makes a listener.
func (m *Memory) bind(at member.Address) (*memListener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at.Port == 0 {
		m.port++
		at.Port = m.port
	}
	if m.listeners[at] != nil {
		return nil, &net.OpError{Op: "listen", Net: "memory", Addr: memAddr(at), Err: syscall.EADDRINUSE}
	}
	l := &memListener{memory: m, address: at, backlog: make(chan net.Conn), closed: make(chan struct{})}
	m.listeners[at] = l
	return l, nil
}

// connect waits while a way between the two is cut, as packets do.
func (m *Memory) connect(ctx context.Context, from, to member.Address) (net.Conn, error) {
	for {
		m.mu.Lock()
		l, changed := m.listeners[to], m.changed
		cut := m.ways[way{from, to}].cut || m.ways[way{to, from}].cut
		refused := l == nil || m.ways[way{from, to}].refused
		m.mu.Unlock()
		switch {
		case cut:
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		case refused:
			return nil, &net.OpError{Op: "dial", Net: "memory", Addr: memAddr(to), Err: syscall.ECONNREFUSED}
		}
		near, far := m.pair(from, to)
		select {
		case l.backlog <- far:
			return near, nil
		case <-l.closed: // look again: refused, unless somebody else has bound it
		case <-ctx.Done():
		}
		hangUp(near)
		hangUp(far)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// pair makes the two ends of a connection.
func (m *Memory) pair(from, to member.Address) (near, far *memConn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	there := newStream(way{from, to}, m.ways[way{from, to}])
	back := newStream(way{to, from}, m.ways[way{to, from}])
	near = &memConn{memory: m, in: back, out: there}
	far = &memConn{memory: m, in: there, out: back}
	m.conns[near] = struct{}{}
	m.conns[far] = struct{}{}
	return near, far
}

func (m *Memory) forget(c *memConn) {
	m.mu.Lock()
	delete(m.conns, c)
	m.mu.Unlock()
}

// memNetwork is the network as one endpoint sees it: it knows where it is.
type memNetwork struct {
	memory *Memory
	self   member.Address // what faults name: set by listen, before any dial
}

func (n *memNetwork) listen(_ context.Context, at member.Address) (net.Listener, member.Address, error) {
	l, err := n.memory.bind(at)
	if err != nil {
		return nil, at, err
	}
	n.self = l.address
	return l, l.address, nil
}

func (n *memNetwork) places(_ context.Context, of member.Address) ([]member.Address, error) {
	return []member.Address{of}, nil
}

func (n *memNetwork) dial(ctx context.Context, place member.Address) (net.Conn, error) {
	return n.memory.connect(ctx, n.self, place)
}

// A memListener hands over the far ends of what is dialed.
type memListener struct {
	memory  *Memory
	address member.Address
	backlog chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.backlog:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error {
	l.once.Do(func() {
		l.memory.mu.Lock()
		delete(l.memory.listeners, l.address)
		l.memory.announce()
		l.memory.mu.Unlock()
		close(l.closed)
	})
	return nil
}

func (l *memListener) Addr() net.Addr { return memAddr(l.address) }

// A memAddr is an address of the network in memory.
type memAddr member.Address

func (memAddr) Network() string  { return "memory" }
func (a memAddr) String() string { return member.Address(a).String() }
