package transport

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// drainAll takes everything, as a peer's scanner sees it.
func drainAll(t *testing.T, q *queue, each func(payload []byte)) {
	t.Helper()
	s := scanner{limit: maxFrame}
	for seg := q.take(nil); seg != nil; seg = q.take(nil) {
		if len(seg.buf) > lengthBytes+segmentBytes {
			t.Fatalf("a segment of %d bytes, want at most %d", len(seg.buf), lengthBytes+segmentBytes)
		}
		s.buf, s.start, s.end = seg.buf, 0, len(seg.buf)
		frames := 0
		for payload, ok, err := s.next(); ok || err != nil; payload, ok, err = s.next() {
			if err != nil {
				t.Fatal(err)
			}
			frames++
			each(payload)
		}
		if frames != seg.frames {
			t.Errorf("a segment that completes %d frames says %d", frames, seg.frames)
		}
		q.release(seg)
	}
}

// Random frames in random streams: each stream keeps its order, nothing is lost,
// and the accounts are even.
func TestStreamsKeepOrderAroundLargeFrames(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		q := newQueue(64 << 20)
		const streams, frames = 5, 400
		var sent, got [streams]uint32
		check := func(payload []byte) {
			stream, n := payload[0], binary.BigEndian.Uint32(payload[1:])
			if n != got[stream] {
				t.Fatalf("seed %d: stream %d: got frame %d, want %d", seed, stream, n, got[stream])
			}
			got[stream]++
		}
		for range frames {
			stream := random.IntN(streams)
			size := 5 + random.IntN(1000)
			if random.IntN(10) == 0 {
				size = segmentBytes + 1 + random.IntN(4*segmentBytes)
			}
			payload := binary.BigEndian.AppendUint32([]byte{byte(stream)}, sent[stream])
			if how, _ := q.push(uint32(stream), append(payload, make([]byte, size-5)...)); how != pushedIn {
				t.Fatalf("seed %d: push: %v", seed, how)
			}
			sent[stream]++
		}
		drainAll(t, q, check)
		if got != sent || q.bytes() != 0 || !q.empty() || q.made != q.popped {
			t.Errorf("seed %d: got %v, sent %v; %d bytes left, %d of %d segments gone", seed, got, sent, q.bytes(), q.popped, q.made)
		}
	}
}

// While parts of a large frame go out, one segment of others goes after each.
func TestOthersTakeTurnsWithParts(t *testing.T) {
	q := newQueue(64 << 20)
	push := func(stream uint32, size int) {
		t.Helper()
		if how, _ := q.push(stream, make([]byte, size)); how != pushedIn {
			t.Fatalf("push: %v", how)
		}
	}
	push(1, 3*segmentBytes)
	push(1, 1) // behind it
	var order string
	for s := q.take(nil); s != nil; s = q.take(nil) {
		switch {
		case s.large > 0:
			order += "L"
			push(2, 2) // somebody else
		default:
			order += fmt.Sprint(s.frames)
		}
		q.release(s)
	}
	if want := "L1L1L2"; order != want { // the last takes along what was behind the large one
		t.Errorf("order %s, want %s", order, want)
	}
}

func TestLargeFramesHaveTheirOwnBudget(t *testing.T) {
	const limit = 4 * segmentBytes
	q := newQueue(limit)
	large, small := make([]byte, 3*segmentBytes), make([]byte, 100)
	for _, tt := range []struct {
		what    string
		stream  uint32
		payload []byte
		want    pushed
	}{
		{"a large one", 1, large, pushedIn},
		{"a second", 2, large, pushedFull},
		{"a small one behind the first", 1, small, pushedIn},
		{"another's", 2, small, pushedIn},
	} {
		if how, _ := q.push(tt.stream, tt.payload); how != tt.want {
			t.Errorf("push %s: %v, want %v", tt.what, how, tt.want)
		}
	}
	room := q.roomFor(2, large)
	if room == nil || q.roomFor(2, small) != nil {
		t.Fatal("want to wait for room with a large frame, not with a small one")
	}
	drainAll(t, q, func([]byte) {})
	if !closed(room) {
		t.Error("an empty queue has not called those who wait for room")
	}
}

func TestExpiryAndBreaksOfLargeFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(64 << 20)
		push := func(stream uint32, sizes ...int) {
			for _, size := range sizes {
				if how, _ := q.push(stream, make([]byte, size)); how != pushedIn {
					t.Fatalf("push: %v", how)
				}
			}
		}
		push(1, 100, 2*segmentBytes, 100, 2*segmentBytes)
		time.Sleep(10 * time.Second)
		push(1, 100)
		push(2, 2*segmentBytes)
		if n := q.expire(time.Now().Add(-time.Second)); n != 4 {
			t.Errorf("expired %d frames, want the four that are old", n)
		}
		if n := q.breakOff(); n != 0 {
			t.Errorf("a break with nothing under way drops %d frames", n)
		}
		q.release(q.take(nil)) // the small one
		q.release(q.take(nil)) // a part
		if n := q.breakOff(); n != 1 {
			t.Errorf("a break with a large frame under way drops %d frames, want it", n)
		}
		push(3, 2*segmentBytes, 1)
		if n := q.clear(); n != 2 || q.bytes() != 0 || !q.empty() {
			t.Errorf("clear drops %d frames, want 2; %d bytes left", n, q.bytes())
		}
	})
}

// A frame of 10 MiB takes ten seconds on this way; what others send in the same
// lane meanwhile takes the time of a part, and what its own stream sends comes
// behind it.
func TestFD04LargeFrameHoldsUpItsOwnStreamOnly(t *testing.T) {
	for name, secure := range map[string]func(*Config){
		"plain":  func(*Config) {},
		"secret": func(c *Config) { c.Insecure, c.Secret = false, testSecret },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := NewMemory()
				var got stamped
				a := node(t, thin(dialer(memory, "10.0.0.1", nil, nil), 1<<20), 1, &tape{}, secure)
				b := node(t, dialer(memory, "10.0.0.2", nil, nil), 2, &got, secure)
				sendNumber(t, a, b.Self(), 0)
				synctest.Wait()
				start := time.Now()
				if err := a.Send(b.Self(), User.Stream(7), make([]byte, 10<<20)); err != nil {
					t.Fatal(err)
				}
				if err := a.Send(b.Self(), User.Stream(7), make([]byte, 7)); err != nil {
					t.Fatal(err)
				}
				for range 50 { // over five seconds
					sent := time.Now()
					sendNumber(t, a, b.Self(), 1)
					time.Sleep(100 * time.Millisecond)
					synctest.Wait()
					if late := got.last(4).Sub(sent); late < 0 || late > 400*time.Millisecond {
						t.Fatalf("after %v: a small frame came %v after it was sent", sent.Sub(start), late)
					}
				}
				time.Sleep(time.Minute)
				large, behind := got.last(10<<20), got.last(7)
				if took := large.Sub(start); took < 9*time.Second || took > 12*time.Second {
					t.Errorf("the large frame took %v, want about 10 s", took)
				}
				if behind.Before(large) {
					t.Errorf("what was behind the large frame came %v before it", large.Sub(behind))
				}
			})
		})
	}
}

// thin makes each connection dialed carry so many bytes a second.
func thin(t TCP, perSecond int) TCP {
	dial := t.DialTCP
	t.DialTCP = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		conn, err := dial(ctx, to)
		return thinConn{conn, perSecond}, err
	}
	return t
}

type thinConn struct {
	net.Conn
	perSecond int
}

func (c thinConn) Write(b []byte) (int, error) {
	time.Sleep(time.Duration(len(b)) * time.Second / time.Duration(c.perSecond))
	return c.Conn.Write(b)
}

// stamped notes when a payload of each size last came.
type stamped struct {
	tape
	at map[int]time.Time
}

func (s *stamped) Receive(_ member.ID, _ Lane, payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[int]time.Time{}
	}
	s.at[len(payload)] = time.Now()
}

func (s *stamped) last(size int) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at[size]
}
