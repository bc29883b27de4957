package transporttest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/transport"
)

// Run checks a transport. open gives one for each part of the suite; endpoints
// that it opens on 127.0.0.1 must be able to reach each other.
func Run(t *testing.T, open func(t *testing.T) transport.Transport) {
	for _, part := range []struct {
		name string
		test func(*testing.T, transport.Transport)
	}{
		{"OrderInEachLane", orderInEachLane},
		{"ManySenders", manySenders},
		{"REM10BothDialAtOnce", bothDialAtOnce},
		{"SizesOfFrames", sizesOfFrames},
		{"ControlOvertakesBlockedLane", controlOvertakesBlockedLane},
		{"TooLarge", tooLarge},
		{"Full", full},
		{"Patient", patient},
		{"ClosedWhileWaiting", closedWhileWaiting},
		{"BadArguments", badArguments},
		{"SendAddress", sendAddress},
		{"REM02Restart", restart},
		{"MEM06OtherCluster", otherCluster},
		{"REM07OtherName", otherName},
		{"REM01Quarantine", quarantine},
		{"REM06HandlerPanics", handlerPanics},
		{"REM12PayloadIsOnlyLent", payloadIsOnlyLent},
		{"DisconnectFlushes", disconnectFlushes},
		{"CloseFlushes", closeFlushes},
		{"SHD16CloseIsIdempotent", closeIsIdempotent},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, open(t)) })
	}
}

// pair opens two nodes, A and B.
func pair(t *testing.T, tr transport.Transport, ha, hb transport.Handler) (a, b transport.Endpoint) {
	t.Helper()
	return Open(t, tr, Config(1), ha), Open(t, tr, Config(2), hb)
}

func send(t *testing.T, from transport.Endpoint, to member.ID, lane transport.Lane, payload []byte) {
	t.Helper()
	if err := from.Send(to, lane, payload); err != nil {
		t.Fatalf("Send of %d bytes to %v in lane %v: %v", len(payload), to, lane, err)
	}
}

func number(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func isNumber(f Frame, n int) bool { return bytes.Equal(f.Payload, number(n)) }

// inLane gives the frames of one sender and lane, in the order of arrival.
func inLane(frames []Frame, from member.ID, lane transport.Lane) []Frame {
	return slices.DeleteFunc(slices.Clone(frames), func(f Frame) bool { return f.From != from || f.Lane != lane })
}

// wantRun checks that frames are the numbers from 0 to n-1.
func wantRun(t *testing.T, frames []Frame, n int) {
	t.Helper()
	if len(frames) != n {
		t.Fatalf("got %d frames, want %d", len(frames), n)
	}
	for i, f := range frames {
		if !isNumber(f, i) {
			t.Fatalf("frame %d of lane %v: got % x, want % x", i, f.Lane, f.Payload, number(i))
		}
	}
}

func orderInEachLane(t *testing.T, tr transport.Transport) {
	var got Recorder
	a, b := pair(t, tr, &Recorder{}, &got)
	const each = 2000
	lanes := []transport.Lane{transport.Control, transport.User, transport.User + 1, transport.User + 3}
	for i := range each {
		for _, lane := range lanes {
			send(t, a, b.Self(), lane, number(i))
		}
	}
	frames := got.UntilFrames(t, each*len(lanes))
	for _, lane := range lanes {
		wantRun(t, inLane(frames, a.Self(), lane), each)
	}
}

func manySenders(t *testing.T, tr transport.Transport) {
	var got Recorder
	a, b := pair(t, tr, &Recorder{}, &got)
	const senders, each = 16, 200
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				if err := a.Send(b.Self(), transport.User, append(number(s), number(i)...)); err != nil {
					t.Errorf("Send: %v", err)
				}
			}
		})
	}
	wg.Wait()
	next := make([]int, senders)
	for _, f := range got.UntilFrames(t, senders*each) {
		s := binary.BigEndian.Uint32(f.Payload)
		if want := append(number(int(s)), number(next[s])...); !bytes.Equal(f.Payload, want) {
			t.Fatalf("sender %d: got % x, want % x", s, f.Payload, want)
		}
		next[s]++
	}
}

// bothDialAtOnce: REM-10, without a break.
func bothDialAtOnce(t *testing.T, tr transport.Transport) {
	for range 20 {
		var gotA, gotB Recorder
		a, b := pair(t, tr, &gotA, &gotB)
		const each = 50
		var wg sync.WaitGroup
		for _, way := range [][2]transport.Endpoint{{a, b}, {b, a}} {
			wg.Go(func() {
				for i := range each {
					if err := way[0].Send(way[1].Self(), transport.User, number(i)); err != nil {
						t.Errorf("Send: %v", err)
					}
				}
			})
		}
		wg.Wait()
		wantRun(t, gotA.UntilFrames(t, each), each)
		wantRun(t, gotB.UntilFrames(t, each), each)
		Kill(t, a)
		Kill(t, b)
	}
}

func sizesOfFrames(t *testing.T, tr transport.Transport) {
	var got Recorder
	a, b := pair(t, tr, &Recorder{}, &got)
	sizes := []int{0, 1, 100, 4<<10 - 4, 4 << 10, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20, 10 << 20, 3}
	for i, size := range sizes {
		send(t, a, b.Self(), transport.User, bytes.Repeat([]byte{byte(i)}, size))
	}
	for i, f := range got.UntilFrames(t, len(sizes)) {
		if want := bytes.Repeat([]byte{byte(i)}, sizes[i]); !bytes.Equal(f.Payload, want) {
			t.Errorf("frame %d: got %d bytes, want %d bytes of %#x", i, len(f.Payload), sizes[i], i)
		}
	}
	s := b.Stats()
	if s.User.ReceivedFrames != uint64(len(sizes)) || s.Control.ReceivedFrames != 0 {
		t.Errorf("receiver's traffic: user %+v, control %+v, want %d user frames", s.User, s.Control, len(sizes))
	}
}

func controlOvertakesBlockedLane(t *testing.T, tr transport.Transport) {
	release := make(chan struct{})
	got := Recorder{Gate: func(f Frame) {
		if f.Lane == transport.User {
			<-release
		}
	}}
	a, b := pair(t, tr, &Recorder{}, &got)
	send(t, a, b.Self(), transport.User, make([]byte, 10<<20))
	send(t, a, b.Self(), transport.User, number(1))
	send(t, a, b.Self(), transport.User+1, number(2))
	for i := range 10 {
		send(t, a, b.Self(), transport.Control, number(i))
	}
	frames := got.UntilFrames(t, 11)
	wantRun(t, inLane(frames, a.Self(), transport.Control), 10)
	close(release)
	got.UntilFrames(t, 13)
}

func tooLarge(t *testing.T, tr transport.Transport) {
	var got Recorder
	small := Config(2)
	small.MaxFrame = 64 << 10
	a, b := Open(t, tr, Config(1), &Recorder{}), Open(t, tr, small, &got)

	check := func(err error, size, limit int) {
		t.Helper()
		var e *transport.TooLargeError
		if !errors.As(err, &e) || !errors.Is(err, transport.ErrTooLarge) || e.Size != size || e.Limit != limit || e.Setting == "" {
			t.Errorf("Send of %d bytes: %v, want a TooLargeError with limit %d and its setting", size, err, limit)
		}
	}
	check(a.Send(b.Self(), transport.User, make([]byte, 16<<20+1)), 16<<20+1, 16<<20)
	send(t, a, b.Self(), transport.Control, number(0))
	got.UntilFrames(t, 1) // the handshake has told a the limit of b
	check(a.Send(b.Self(), transport.User, make([]byte, 64<<10+1)), 64<<10+1, 64<<10)
	send(t, a, b.Self(), transport.User, make([]byte, 64<<10))
	got.UntilFrames(t, 2)
	if n := a.Stats().Rejected["too_large"]; n != 2 {
		t.Errorf("Rejected[too_large] = %d, want 2", n)
	}
}

// fill sends until that fails: the operating system takes some megabytes on the way.
func fill(send func() error) (err error) {
	for range 10_000 {
		if err = send(); err != nil {
			break
		}
	}
	return err
}

func full(t *testing.T, tr transport.Transport) {
	release := make(chan struct{})
	got := Recorder{Gate: func(Frame) { <-release }}
	cfg := Config(1)
	cfg.MaxFrame, cfg.Queue = 64<<10, 128<<10
	a, b := Open(t, tr, cfg, &Recorder{}), Open(t, tr, Config(2), &got)
	defer close(release)

	payload := make([]byte, 60<<10)
	err := fill(func() error { return a.Send(b.Self(), transport.User, payload) })
	var e *transport.FullError
	if !errors.As(err, &e) || !errors.Is(err, transport.ErrFull) || e.Limit != cfg.Queue || e.Setting != "Config.Queue" || e.Peer != b.Self() {
		t.Fatalf("Send to a reader that does not read: %v, want a FullError that names Config.Queue", err)
	}
	send(t, a, b.Self(), transport.User+1, number(1)) // the other lanes have room
	over, cancel := context.WithCancel(t.Context())
	cancel()
	err = fill(func() error { return a.SendWait(over, b.Self(), transport.User, payload) })
	if !errors.Is(err, transport.ErrFull) || !errors.Is(err, context.Canceled) {
		t.Errorf("SendWait with a context that is over: %v, want ErrFull and context.Canceled", err)
	}
	if n := a.Stats().Rejected["full"]; n != 2 {
		t.Errorf("Rejected[full] = %d, want 2", n)
	}
}

// patient sends more than a lane holds to a reader that begins late: those who
// wait get all of it through, each in its order, and nothing is refused.
func patient(t *testing.T, tr transport.Transport) {
	const senders, each = 4, 100
	begin := make(chan struct{})
	got := Recorder{Gate: func(Frame) { <-begin }}
	cfg := Config(1)
	cfg.MaxFrame, cfg.Queue = 64<<10, 128<<10
	a, b := Open(t, tr, cfg, &Recorder{}), Open(t, tr, Config(2), &got)
	var sending sync.WaitGroup
	for s := range senders {
		sending.Go(func() {
			payload := make([]byte, 60<<10)
			payload[0] = byte(s)
			for i := range each {
				payload[1] = byte(i)
				if err := a.SendWait(t.Context(), b.Self(), transport.User, payload); err != nil {
					t.Errorf("SendWait %d of %d: %v", i, s, err)
				}
			}
		})
	}
	close(begin)
	sending.Wait()
	var next [senders]byte
	for _, f := range got.UntilFrames(t, senders*each) {
		if s := f.Payload[0]; f.Payload[1] != next[s] {
			t.Fatalf("frame %d of sender %d, want %d", f.Payload[1], s, next[s])
		} else {
			next[s]++
		}
	}
	if n := a.Stats().Rejected["full"]; n != 0 {
		t.Errorf("Rejected[full] = %d, want 0", n)
	}
}

// closedWhileWaiting: who waits for room learns that the endpoint closes.
func closedWhileWaiting(t *testing.T, tr transport.Transport) {
	release := make(chan struct{})
	got := Recorder{Gate: func(Frame) { <-release }}
	cfg := Config(1)
	cfg.MaxFrame, cfg.Queue = 64<<10, 128<<10
	a, b := Open(t, tr, cfg, &Recorder{}), Open(t, tr, Config(2), &got)
	defer close(release)
	payload := make([]byte, 60<<10)
	if err := fill(func() error { return a.Send(b.Self(), transport.User, payload) }); !errors.Is(err, transport.ErrFull) {
		t.Fatalf("Send to a reader that does not read: %v, want ErrFull", err)
	}
	outcome := make(chan error, 1)
	go func() {
		outcome <- fill(func() error { return a.SendWait(context.Background(), b.Self(), transport.User, payload) })
	}()
	Kill(t, a)
	if err := <-outcome; !errors.Is(err, transport.ErrClosed) {
		t.Errorf("SendWait at an endpoint that closes: %v, want ErrClosed", err)
	}
}

func badArguments(t *testing.T, tr transport.Transport) {
	a, b := pair(t, tr, &Recorder{}, &Recorder{})
	for _, tt := range []struct {
		name string
		err  error
		want error
	}{
		{"to itself", a.Send(a.Self(), transport.User, nil), transport.ErrSelf},
		{"to its own address", a.SendAddress(a.Self().Address, nil), transport.ErrSelf},
		{"lane beyond the last", a.Send(b.Self(), transport.User+4, nil), transport.ErrLane},
		{"no incarnation", a.Send(member.ID{Address: b.Self().Address}, transport.User, nil), nil},
	} {
		if tt.err == nil || tt.want != nil && !errors.Is(tt.err, tt.want) {
			t.Errorf("Send %s: %v, want %v", tt.name, tt.err, tt.want)
		}
	}
	if _, err := tr.Listen(t.Context(), transport.Config{MaxFrame: 1, Lanes: -1}, &Recorder{}); err == nil {
		t.Error("Listen without a cluster and with a tiny MaxFrame: no error")
	}
}

func sendAddress(t *testing.T, tr transport.Transport) {
	var gotA, gotB Recorder
	a, b := pair(t, tr, &gotA, &gotB)
	if err := a.SendAddress(b.Self().Address, number(0)); err != nil {
		t.Fatalf("SendAddress: %v", err)
	}
	f := gotB.UntilFrames(t, 1)[0]
	if f.From != a.Self() || f.Lane != transport.Control {
		t.Errorf("got a frame of %v in lane %v, want of %v in lane control", f.From, f.Lane, a.Self())
	}
	send(t, b, f.From, transport.Control, number(1))
	gotA.UntilFrames(t, 1)
	if links := gotA.Links(); len(links) != 0 {
		t.Errorf("links reported by SendAddress: %v, want none", links)
	}
}

// closeCleanly closes with time enough to flush.
func closeCleanly(t *testing.T, e transport.Endpoint) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		t.Errorf("Close of %v: %v", e.Self(), err)
	}
}
