package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

func TestProbe(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(t *testing.T, net *Memory, a, b Endpoint)
		gone   bool // ErrGone
		lives  bool // nil
	}{
		"lives": {func(*testing.T, *Memory, Endpoint, Endpoint) {}, false, true},
		"has crashed": {func(_ *testing.T, _ *Memory, _, b Endpoint) {
			kill(b)
		}, true, false},
		"has crashed and was restarted": {func(t *testing.T, net *Memory, _, b Endpoint) {
			kill(b)
			node(t, net, 2, &tape{}, func(c *Config) { c.UID = 9 })
		}, true, false},
		"cannot be reached": {func(_ *testing.T, net *Memory, a, b Endpoint) {
			net.Cut(a.Self().Address, b.Self().Address)
		}, false, false},
		"is refused in its name": {func(_ *testing.T, net *Memory, a, b Endpoint) {
			net.Refuse(a.Self().Address, b.Self().Address)
		}, false, false},
		"has quarantined this node": {func(_ *testing.T, _ *Memory, a, b Endpoint) {
			b.Quarantine(a.Self())
		}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := NewMemory()
				a, b := node(t, net, 1, &tape{}), node(t, net, 2, &tape{})
				sendNumber(t, a, b.Self(), 1)
				sendNumber(t, b, a.Self(), 1)
				synctest.Wait()
				tt.change(t, net, a, b)
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := a.Probe(ctx, a.Self()); err != nil {
					t.Errorf("the own listener: %v", err)
				}
				err := a.Probe(ctx, b.Self())
				if errors.Is(err, ErrGone) != tt.gone || (err == nil) != tt.lives {
					t.Errorf("a node that %s: got %v, want gone %v, alive %v", name, err, tt.gone, tt.lives)
				}
			})
		})
	}
}

// A probe takes the place of no connection, and loses no frame.
func TestProbeDisturbsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := NewMemory()
		var heard, up tape
		a, b := node(t, net, 1, &up), node(t, net, 2, &heard)
		for k := range 20 {
			sendNumber(t, a, b.Self(), k)
			if err := a.Probe(t.Context(), b.Self()); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		numbers, _, _ := heard.got()
		if _, ups, downs := up.got(); len(numbers) != 20 || len(ups) != 1 || len(downs) != 0 {
			t.Errorf("%d of 20 frames, %d links up, down: %v; want all on one link", len(numbers), len(ups), downs)
		}
	})
}

func TestBroke(t *testing.T) {
	closing := &RefusedError{Reason: RefusedClosing, Peer: member.ID{UID: 1}}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("closed by the peer: %w", io.EOF), true},
		{io.ErrUnexpectedEOF, true},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, true},
		{&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, true},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, true},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ETIMEDOUT)}, false},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, false},
		{os.ErrDeadlineExceeded, false},
		{fmt.Errorf("%w: %w", closing, io.EOF), false},
		{ErrClosed, false},
		{ErrDisconnected, false},
		{ErrQuarantined, false},
		{nil, false},
	} {
		if got := Broke(tt.err); got != tt.want {
			t.Errorf("Broke(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}
