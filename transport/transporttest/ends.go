package transporttest

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/transport"
)

// reopen starts a new incarnation on the address of one that has ended.
func reopen(t *testing.T, tr transport.Transport, at member.Address, uid int64, h transport.Handler) transport.Endpoint {
	t.Helper()
	cfg := Config(uid)
	cfg.Listen = at
	return Open(t, tr, cfg, h)
}

// restart: REM-02 and the incarnation's part of MEM-06.
func restart(t *testing.T, tr transport.Transport) {
	var gotA, gotOld, gotNew Recorder
	a, b := pair(t, tr, &gotA, &gotOld)
	old := b.Self()
	send(t, a, old, transport.User, number(0))
	gotOld.UntilFrames(t, 1)
	if links := gotA.Links(); len(links) != 1 || links[0] != (Link{Peer: old, Up: true}) {
		t.Errorf("links %v, want one up to %v", links, old)
	}
	Kill(t, b)
	if err := gotA.UntilDown(t, old); err == nil {
		t.Error("LinkDown after a crash: no error")
	}

	b = reopen(t, tr, old.Address, 3, &gotNew)
	send(t, a, old, transport.User, number(1)) // for the old one only
	gotA.Until(t, "refusal of the old incarnation", func(_ []Frame, links []Link) bool {
		var refused *transport.RefusedError
		last := links[len(links)-1]
		return errors.As(last.Err, &refused) && refused.Reason == transport.RefusedIncarnation && refused.Peer == b.Self()
	})
	a.Quarantine(old)
	send(t, a, b.Self(), transport.User, number(2))
	if f := gotNew.UntilFrames(t, 1); len(f) != 1 || !isNumber(f[0], 2) {
		t.Errorf("the new incarnation got %v, want only what was for it", f)
	}
	if n := a.Stats().Dropped["incarnation"]; n != 1 {
		t.Errorf("Dropped[incarnation] = %d, want 1", n)
	}
}

// otherCluster: MEM-06.
func otherCluster(t *testing.T, tr transport.Transport) {
	var gotA, gotB Recorder
	cfg := Config(2)
	cfg.Cluster = "other"
	a, b := Open(t, tr, Config(1), &gotA), Open(t, tr, cfg, &gotB)
	if err := a.SendAddress(b.Self().Address, number(0)); err != nil {
		t.Fatalf("SendAddress: %v", err)
	}
	err := gotA.UntilDown(t, member.ID{Address: b.Self().Address})
	var refused *transport.RefusedError
	if !errors.As(err, &refused) || !errors.Is(err, transport.ErrRefused) || refused.Reason != transport.RefusedCluster {
		t.Fatalf("LinkDown: %v, want a RefusedError for the cluster", err)
	}
	for _, name := range []string{`"test"`, `"other"`} {
		if !bytes.Contains([]byte(err.Error()), []byte(name)) {
			t.Errorf("refusal %q does not name the cluster %s", err, name)
		}
	}
	if len(gotB.Frames()) != 0 {
		t.Errorf("the other cluster got %v", gotB.Frames())
	}
	if n := a.Stats().Dropped["refused"]; n != 1 {
		t.Errorf("Dropped[refused] = %d, want 1", n)
	}
	if s := a.Stats(); s.RefusedBy["cluster"] != 1 {
		t.Errorf("RefusedBy[cluster] = %d, want 1", s.RefusedBy["cluster"])
	}
	if s := b.Stats(); s.Refused["cluster"] != 1 {
		t.Errorf("Refused[cluster] = %d, want 1", s.Refused["cluster"])
	}
}

// otherName: REM-07. The peer is reached, but it is known by another name.
func otherName(t *testing.T, tr transport.Transport) {
	var gotA Recorder
	cfg := Config(2)
	cfg.Advertise = member.Address{Host: "node-2.example"}
	a, b := Open(t, tr, Config(1), &gotA), Open(t, tr, cfg, &Recorder{})
	used := member.Address{Host: "127.0.0.1", Port: b.Self().Port}
	if err := a.SendAddress(used, number(0)); err != nil {
		t.Fatalf("SendAddress: %v", err)
	}
	err := gotA.UntilDown(t, member.ID{Address: used})
	var refused *transport.RefusedError
	if !errors.As(err, &refused) || refused.Reason != transport.RefusedAddress {
		t.Fatalf("LinkDown: %v, want a RefusedError for the address", err)
	}
	for _, address := range []string{used.String(), b.Self().Address.String()} {
		if !bytes.Contains([]byte(err.Error()), []byte(address)) {
			t.Errorf("refusal %q does not show %s", err, address)
		}
	}
}

// quarantine: REM-01 and REM-02.
func quarantine(t *testing.T, tr transport.Transport) {
	var gotA, gotB Recorder
	a, b := pair(t, tr, &gotA, &gotB)
	send(t, a, b.Self(), transport.User, number(0))
	send(t, b, a.Self(), transport.User, number(0))
	gotA.UntilFrames(t, 1)
	gotB.UntilFrames(t, 1)

	a.Quarantine(b.Self())
	if err := a.Send(b.Self(), transport.User, nil); !errors.Is(err, transport.ErrQuarantined) {
		t.Errorf("Send to a quarantined node: %v, want %v", err, transport.ErrQuarantined)
	}
	if err := gotA.UntilDown(t, b.Self()); !errors.Is(err, transport.ErrQuarantined) {
		t.Errorf("LinkDown here: %v, want %v", err, transport.ErrQuarantined)
	}
	if err := gotB.UntilDown(t, a.Self()); err == nil {
		t.Error("LinkDown there: no error")
	}
	before := len(gotA.Frames())
	send(t, b, a.Self(), transport.User, number(1))
	gotB.Until(t, "the word that it is quarantined", func(_ []Frame, links []Link) bool {
		var refused *transport.RefusedError
		return errors.As(links[len(links)-1].Err, &refused) && refused.Reason == transport.RefusedQuarantined
	})
	if n := len(gotA.Frames()); n != before {
		t.Errorf("%d frames of a quarantined node were delivered", n-before)
	}

	at := b.Self().Address
	Kill(t, b)
	b = reopen(t, tr, at, 3, &Recorder{})
	send(t, b, a.Self(), transport.User, number(2))
	frames := gotA.UntilFrames(t, before+1)
	if last := frames[len(frames)-1]; last.From != b.Self() || !isNumber(last, 2) {
		t.Errorf("got %v, want the new incarnation's frame", last)
	}
}

// handlerPanics: REM-06, the transport's part.
func handlerPanics(t *testing.T, tr transport.Transport) {
	count := 0
	got := Recorder{Gate: func(Frame) {
		if count++; count%10 == 0 {
			panic("cannot decode this")
		}
	}}
	a, b := pair(t, tr, &Recorder{}, &got)
	for i := range 1000 {
		send(t, a, b.Self(), transport.User, number(i))
	}
	got.UntilFrames(t, 900)
	if s := b.Stats(); s.Panics != 100 && s.Panics != 99 { // the last one may be under way
		t.Errorf("Panics = %d, want 100", s.Panics)
	}
	if s := a.Stats(); s.LinksDown != 0 || s.LinksUp != 1 {
		t.Errorf("links up %d, down %d, want one link all the time", s.LinksUp, s.LinksDown)
	}
}

// payloadIsOnlyLent: REM-12. Send copies; Receive lends, and Poison shows it.
func payloadIsOnlyLent(t *testing.T, tr transport.Transport) {
	var kept [][]byte
	got := make(chan struct{}, 100)
	a := Open(t, tr, Config(1), &Recorder{})
	b := Open(t, tr, Config(2), lender{func(payload []byte) {
		kept = append(kept, payload)
		got <- struct{}{}
	}})
	payload := number(7)
	send(t, a, b.Self(), transport.User, payload)
	copy(payload, "used again by the sender")
	<-got
	send(t, a, b.Self(), transport.User, number(8))
	<-got
	Kill(t, b) // every Receive has returned
	if bytes.Equal(kept[0], number(7)) {
		t.Error("a payload kept after Receive is unchanged, want it poisoned")
	}
}

// A lender hands out the very payloads.
type lender struct{ receive func([]byte) }

func (l lender) Receive(_ member.ID, _ transport.Lane, payload []byte) { l.receive(payload) }
func (lender) LinkUp(member.ID)                                        {}
func (lender) LinkDown(member.ID, error)                               {}

func disconnectFlushes(t *testing.T, tr transport.Transport) {
	var gotA, gotB Recorder
	a, b := pair(t, tr, &gotA, &gotB)
	const n = 5000
	for i := range n {
		send(t, a, b.Self(), transport.User, number(i))
	}
	a.Disconnect(b.Self())
	for i := range n { // goes to a new link, behind the old one
		send(t, a, b.Self(), transport.User, number(n+i))
	}
	wantRun(t, gotB.UntilFrames(t, 2*n), 2*n)
	if err := gotA.UntilDown(t, b.Self()); !errors.Is(err, transport.ErrDisconnected) {
		t.Errorf("LinkDown: %v, want %v", err, transport.ErrDisconnected)
	}
}

func closeFlushes(t *testing.T, tr transport.Transport) {
	var gotA, gotB Recorder
	a, b := pair(t, tr, &gotA, &gotB)
	const n = 5000
	for i := range n {
		send(t, a, b.Self(), transport.User, number(i))
		send(t, a, b.Self(), transport.User+1, number(i))
	}
	closeCleanly(t, a)
	frames := gotB.Frames() // all has been read when Close returns
	for _, lane := range []transport.Lane{transport.User, transport.User + 1} {
		wantRun(t, inLane(frames, a.Self(), lane), n)
	}
	if err := a.Send(b.Self(), transport.User, nil); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Send after Close: %v, want %v", err, transport.ErrClosed)
	}
	if err := gotA.UntilDown(t, b.Self()); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("LinkDown: %v, want %v", err, transport.ErrClosed)
	}
}

// closeIsIdempotent: SHD-16, here for a whole endpoint.
func closeIsIdempotent(t *testing.T, tr transport.Transport) {
	a, b := pair(t, tr, &Recorder{}, &Recorder{})
	send(t, a, b.Self(), transport.User, number(0))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { closeCleanly(t, a) })
		wg.Go(func() { a.Disconnect(b.Self()) })
		wg.Go(func() { a.Quarantine(b.Self()) })
	}
	wg.Wait()
	closeCleanly(t, a)
}
