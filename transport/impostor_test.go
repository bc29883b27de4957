package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// A recorded handshake is worth nothing, whether all its bytes are sent again or
// only its proof, in a TLS session of the attacker's own.
func TestReplayedHandshake(t *testing.T) {
	onStages(t, "secret tls", func(s *stage) {
		var mu sync.Mutex
		var recorded []byte
		record := func(conn net.Conn) net.Conn {
			return recorder{conn, func(b []byte) {
				mu.Lock()
				defer mu.Unlock()
				recorded = append(recorded, b...)
			}}
		}
		honest := s.open(3, &tape{}, func(c *Config) { c.Listen.Port = 0 })
		conn, err := s.dial()
		if err != nil {
			t.Fatal(err)
		}
		e := honest.(*endpoint)
		h := hello{lowest: 1, highest: 1, cluster: "x", from: honest.Self(), to: s.victim.Self(), lane: Control, round: 1, maxFrame: minFrame}
		ch, _, err := e.greet(t.Context(), record(conn), h)
		if err != nil {
			t.Fatalf("the honest handshake: %v", err)
		}
		h.proof = e.cfg.Secret.prove(roleDials, ch.binding, h.said())
		hangUp(conn)
		s.attack(recorded)
		s.refused("tls", 1)
		if s.victim.Stats().Security != "secret" {
			return
		}
		mallory, err := newGuard(&Config{Secret: "does not matter here"}, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if conn, err = s.dial(); err != nil {
			t.Fatal(err)
		}
		defer hangUp(conn)
		if ch, err = mallory.dial(conn, "127.0.0.1"); err != nil {
			t.Fatal(err)
		}
		if _, err := ch.Write(h.encode()); err != nil {
			t.Fatal(err)
		}
		a, err := readAnswer(ch)
		if err != nil || a.refusal != RefusedSecret || a.cluster != "" || a.proof != "" {
			t.Errorf("answer %+v, %v, want a refusal that tells nothing", a, err)
		}
		s.refused("secret", 1)
	})
}

// A recorder hears what is written.
type recorder struct {
	net.Conn
	hear func([]byte)
}

func (r recorder) Write(b []byte) (int, error) {
	r.hear(b)
	return r.Conn.Write(b)
}

// Somebody in the middle holds a TLS session with each side and passes on what
// they say: the proofs are bound to sessions, so neither believes.
func TestManInTheMiddle(t *testing.T) {
	s := newStage(t, "tcp", "secret")
	middle, err := newGuard(&Config{Secret: "does not matter here"}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var passing sync.WaitGroup
	passing.Go(func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			passing.Go(func() { passOn(s, middle, conn) })
		}
	})
	tricked := TCP{DialTCP: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}}
	s.tr = tricked
	e := s.open(3, &tape{}, func(c *Config) { c.MinBackoff, c.MaxBackoff = time.Hour, time.Hour })
	sendNumber(t, e, s.victim.Self(), 7)
	s.until("the attempt", func() bool { return e.Stats().DialErrors == 1 })
	s.refused("secret", 1)
	kill(e)
	_ = l.Close()
	passing.Wait()
	s.friendIsUndisturbed()
}

func passOn(s *stage, middle *guard, conn net.Conn) {
	defer hangUp(conn)
	there, err := s.dial()
	if err != nil {
		s.t.Error(err)
		return
	}
	defer hangUp(there)
	near, err := middle.accept(conn)
	if err != nil {
		return
	}
	far, err := middle.dial(there, "127.0.0.1")
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(near, far); hangUp(conn) })
	_, _ = io.Copy(far, near)
	hangUp(there)
	back.Wait()
}

// A refusal that nobody has proved is not believed: the node would stop.
func TestUnprovenRefusalIsNotBelieved(t *testing.T) {
	s := newStage(t, "tcp", "secret")
	e := s.friend.(*endpoint)
	ch, h := &channel{binding: []byte("b")}, hello{cluster: "x", from: e.self, to: s.victim.Self()}
	a := answer{version: 1, refusal: RefusedQuarantined, cluster: "x", from: s.victim.Self(), maxFrame: minFrame}
	if err := e.judge(a, h, ch); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("without a proof: %v, want an error that is no refusal", err)
	}
	a.proof = testSecret.prove(roleAccepts, ch.binding, h.said(), a.said())
	if err := e.judge(a, h, ch); !errors.Is(err, ErrRefused) {
		t.Errorf("with a proof: %v, want the refusal", err)
	}
}
