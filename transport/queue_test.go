package transport

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func newQueue(limit int) *queue {
	return &queue{segments: new(segments), limit: limit, patience: time.Second}
}

// drain takes everything and returns the payloads.
func drain(t *testing.T, q *queue) (payloads []string) {
	t.Helper()
	for s := q.take(nil); s != nil; s = q.take(nil) {
		frames, _, _ := scan(bytes.NewReader(s.buf), maxFrame)
		if len(frames) != s.frames {
			t.Errorf("segment with %d frames says %d", len(frames), s.frames)
		}
		for _, f := range frames {
			payloads = append(payloads, string(f))
		}
		q.release(s)
	}
	return payloads
}

func TestQueueKeepsOrder(t *testing.T) {
	q := newQueue(1 << 20)
	var want []string
	for i := range 10_000 {
		payload := fmt.Sprint("frame ", i)
		want = append(want, payload)
		if how, _ := q.push(0, []byte(payload)); how != pushedIn {
			t.Fatalf("push %d: %v", i, how)
		}
	}
	got := drain(t, q)
	if len(got) != len(want) {
		t.Fatalf("got %d frames, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("frame %d: got %q, want %q", i, got[i], want[i])
		}
	}
	if q.bytes() != 0 {
		t.Errorf("%d bytes in an empty queue", q.bytes())
	}
}

func TestQueueBoundsWhatWaitsAndWhatIsWritten(t *testing.T) {
	q := newQueue(100)
	push := func(n int, want pushed, when string) {
		t.Helper()
		if how, _ := q.push(0, make([]byte, n)); how != want {
			t.Errorf("push %d %s: got %v, want %v", n, when, how, want)
		}
	}
	push(56, pushedIn, "into an empty queue")
	s := q.take(nil)
	push(37, pushedFull, "with 60 bytes being written")
	push(36, pushedIn, "with 60 bytes being written")
	q.release(s)
	push(56, pushedIn, "after they were written")
}

func TestQueueWakesWhoeverFoundNothing(t *testing.T) {
	q := newQueue(1 << 20)
	wake := make(chan struct{}, 1)
	if s := q.take(wake); s != nil {
		t.Fatalf("take of an empty queue: %v", s)
	}
	if _, got := q.push(0, nil); got != wake {
		t.Error("first push: not the channel of the one that waits")
	}
	if _, got := q.push(0, nil); got != nil {
		t.Error("second push: somebody to wake, want nobody")
	}
}

func TestQueueExpiresByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1 << 20) // patience of one second
		for range 10 {
			if how, _ := q.push(0, []byte("x")); how != pushedIn {
				t.Fatalf("push: %v", how)
			}
			time.Sleep(500 * time.Millisecond)
		}
		if n := q.expire(time.Now().Add(-3 * time.Second)); n != 4 {
			t.Errorf("older than 3 of 5 seconds at 2 frames a second: dropped %d, want 4", n)
		}
		if n := q.clear(); n != 6 {
			t.Errorf("the rest: dropped %d, want 6", n)
		}
		if q.bytes() != 0 {
			t.Errorf("%d bytes left", q.bytes())
		}
	})
}

func TestQueueEnds(t *testing.T) {
	q := newQueue(1 << 20)
	if !q.end() {
		t.Error("end of an empty queue: not empty")
	}
	if how, _ := q.push(0, nil); how != pushedLate {
		t.Errorf("push after end: %v, want %v", how, pushedLate)
	}
	q.reopen()
	if how, _ := q.push(0, nil); how != pushedIn {
		t.Errorf("push after reopen: %v", how)
	}
	if q.end() {
		t.Error("end of a queue with a frame: empty")
	}
}

func TestPushDoesNotAllocate(t *testing.T) {
	q := newQueue(1 << 20)
	payload := make([]byte, 100)
	allocs := testing.AllocsPerRun(1000, func() {
		for range 100 {
			if how, _ := q.push(0, payload); how != pushedIn {
				t.Fatalf("push: %v", how)
			}
		}
		q.release(q.take(nil))
	})
	if allocs != 0 { // a whole number: an emptied pool now and then is no matter
		t.Errorf("100 pushes and a take: %v allocations, want none", allocs)
	}
}

func TestQueueTellsOfRoomWhenHalfIsFree(t *testing.T) {
	q := newQueue(100)
	payload := make([]byte, 26) // 30 bytes in the queue
	if q.roomFor(0, payload) != nil {
		t.Error("room in an empty queue: something to wait for")
	}
	fill := func() (segments []*segment) {
		for range 3 {
			if how, _ := q.push(0, payload); how != pushedIn {
				t.Fatalf("push: %v", how)
			}
			segments = append(segments, q.take(nil))
		}
		return segments
	}
	taken := fill()
	room := q.roomFor(0, payload)
	for i, want := range []bool{false, true, true} { // 60, 30 and 0 bytes wait
		q.release(taken[i])
		if got := closed(room); got != want {
			t.Errorf("after %d of 3 frames: room %v, want %v", i+1, got, want)
		}
	}
	fill()
	if room = q.roomFor(0, payload); closed(room) {
		t.Error("room in a full queue")
	}
	if q.end(); !closed(room) || q.roomFor(0, payload) != nil {
		t.Error("end of a full queue: there is still something to wait for")
	}
}
