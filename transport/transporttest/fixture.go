// Package transporttest checks that a transport keeps the promises of package
// transport: order, independence of lanes, limits, incarnations, and clean ends.
// Any implementation passes the same suite.
package transporttest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/transport"
)

// patience bounds every wait of the suite; a good run never needs it.
const patience = 20 * time.Second

// A Frame is one call of Receive.
type Frame struct {
	From    member.ID
	Lane    transport.Lane
	Payload []byte
}

// A Link is one call of LinkUp or LinkDown.
type Link struct {
	Peer member.ID
	Up   bool
	Err  error
}

// A Recorder is a [transport.Handler] that remembers. The zero value is ready.
type Recorder struct {
	// Gate, if not nil, is called by Receive before it takes note; it may block.
	Gate func(Frame)

	mu      sync.Mutex
	frames  []Frame
	links   []Link
	changed chan struct{}
}

// Receive takes a copy.
func (r *Recorder) Receive(from member.ID, lane transport.Lane, payload []byte) {
	f := Frame{from, lane, bytes.Clone(payload)}
	if r.Gate != nil {
		r.Gate(f)
	}
	r.update(func() { r.frames = append(r.frames, f) })
}

// LinkUp takes note.
func (r *Recorder) LinkUp(peer member.ID) {
	r.update(func() { r.links = append(r.links, Link{Peer: peer, Up: true}) })
}

// LinkDown takes note.
func (r *Recorder) LinkDown(peer member.ID, err error) {
	r.update(func() { r.links = append(r.links, Link{Peer: peer, Err: err}) })
}

func (r *Recorder) update(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// Frames returns what has been received so far.
func (r *Recorder) Frames() []Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Frame(nil), r.frames...)
}

// Links returns what has been reported so far.
func (r *Recorder) Links() []Link {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Link(nil), r.links...)
}

// Until waits until ok holds for what was recorded, and fails the test if it
// does not in good time.
func (r *Recorder) Until(t testing.TB, what string, ok func(frames []Frame, links []Link) bool) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		r.mu.Lock()
		if ok(r.frames, r.links) {
			r.mu.Unlock()
			return
		}
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-late.C:
			t.Fatalf("%s: not within %v; got %d frames and links %v", what, patience, len(r.Frames()), r.Links())
		}
	}
}

// UntilFrames waits for a number of frames and returns them.
func (r *Recorder) UntilFrames(t testing.TB, n int) []Frame {
	t.Helper()
	r.Until(t, fmt.Sprintf("%d frames", n), func(frames []Frame, _ []Link) bool { return len(frames) >= n })
	return r.Frames()
}

// UntilDown waits for a LinkDown of peer and returns its error.
func (r *Recorder) UntilDown(t testing.TB, peer member.ID) (err error) {
	t.Helper()
	r.Until(t, "link down of "+peer.String(), func(_ []Frame, links []Link) bool {
		for _, l := range links {
			if l.Peer == peer && !l.Up {
				err = l.Err
				return true
			}
		}
		return false
	})
	return err
}

// Config is a node's configuration for tests on the loopback interface.
func Config(uid int64) transport.Config {
	return transport.Config{
		Cluster: "test", UID: uid, Listen: member.Address{Host: "127.0.0.1"}, Poison: true,
		MinBackoff: 5 * time.Millisecond, MaxBackoff: 50 * time.Millisecond,
	}
}

// Open listens and closes at the end of the test.
func Open(t testing.TB, tr transport.Transport, cfg transport.Config, h transport.Handler) transport.Endpoint {
	t.Helper()
	e, err := tr.Listen(t.Context(), cfg, h)
	if err != nil {
		t.Fatalf("Listen(%v): %v", cfg.Listen, err)
	}
	t.Cleanup(func() { Kill(t, e) })
	return e
}

// Kill ends an endpoint without a word to its peers, as a crash would.
func Kill(t testing.TB, e transport.Endpoint) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.Close(ctx); err != nil {
		t.Errorf("close %v at once: %v", e.Self(), err)
	}
}
