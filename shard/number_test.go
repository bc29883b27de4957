package shard

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/store"
)

// picky panics for some ids and has no shard for others.
func picky(id string, shards int) int {
	switch {
	case strings.HasPrefix(id, "bad"):
		panic("what an id")
	case strings.HasPrefix(id, "far"):
		return 3 * shards
	}
	return placement.JavaHash(id, shards)
}

func TestJoinRefusesShardOfThatPanics(t *testing.T) {
	in(t, func(w *world) {
		l, n := newLedger(t), w.start()
		typ := l.declare(n)
		typ.ShardOf = func(id string, _ int) int {
			if strings.Contains(id, "@") {
				panic("no number in it")
			}
			return 0
		}
		typ.Buffer = -1
		_, err := join(n, typ)
		if !errors.Is(err, ErrShardNumber) || !strings.Contains(err.Error(), "no number in it") || !strings.Contains(err.Error(), "Buffer") {
			t.Errorf("join: %v, want what ShardOf panics with, beside the other problem", err)
		}
	})
}

// Who tells an id for which ShardOf has no shard hears of it, and so does who has it
// from another node; nothing else happens.
func TestIDsWithoutAShard(t *testing.T) {
	in(t, func(w *world) {
		l, a, b := newLedger(t), w.start("host"), w.start("edge")
		typ := l.declare(a)
		typ.ShardOf, typ.Role = picky, "host"
		onA := joinOn(t, a, typ)
		typ.ShardOf = placement.JavaHash // by the probes it is the same
		fromB := joinOn(t, b, typ)
		time.Sleep(time.Second)
		for _, id := range []string{"bad", "far"} {
			if err := onA.Ref(id).Tell(context.Background(), say{From: "x", N: 1}); !errors.Is(err, ErrShardNumber) || !strings.Contains(err.Error(), id) {
				t.Errorf("tell %s: %v, want ErrShardNumber", id, err)
			}
			if _, err := ask(onA, id, time.Second); !errors.Is(err, ErrShardNumber) {
				t.Errorf("ask %s: %v, want ErrShardNumber", id, err)
			}
		}
		if got := onA.Region().ShardOf("bad"); got != "" {
			t.Errorf("bad is in shard %q, want none", got)
		}
		if _, err := ask(fromB, "bad", 5*time.Second); !errors.Is(err, ErrShardNumber) && !errors.Is(err, ErrDisagree) {
			t.Errorf("ask bad from another node: %v, want that it has no shard there", err)
		}
		tell(t, fromB, "good", say{From: "x", N: 1})
		time.Sleep(time.Second)
		l.complete([]string{"good"}, []string{"x"}, 1)
	})
}

// An id that cannot be remembered is refused at once, and a message for it that comes
// from a node which does not know that is a dead letter, once.
func TestIDsTooLongToBeRemembered(t *testing.T) {
	storing(t, func(t *testing.T, next func() *world) {
		w := next()
		l, a, b := newLedger(t), w.start("host"), w.start("edge")
		typ := l.remembering(a)
		typ.Role = "host"
		onA := joinOn(t, a, typ)
		typ.Remember = false
		fromB := joinOn(t, b, typ)
		time.Sleep(5 * time.Second)
		longest, tooLong := strings.Repeat("\xff", store.MaxKey), strings.Repeat("x", store.MaxKey+1)
		if err := onA.Ref(tooLong).Tell(context.Background(), say{From: "x", N: 1}); !errors.Is(err, ErrRememberLong) {
			t.Errorf("tell of an id of 2 KiB and a byte: %v, want ErrRememberLong", err)
		}
		if _, err := ask(onA, tooLong, time.Second); !errors.Is(err, ErrRememberLong) {
			t.Errorf("ask: %v, want ErrRememberLong", err)
		}
		tell(t, fromB, tooLong, say{From: "x", N: 1})
		tell(t, fromB, longest, say{From: "x", N: 1})
		time.Sleep(20 * time.Second)
		if got := onA.Region().Drops()[DropStart]; got != 1 {
			t.Errorf("drops are %v, want the one message that came from elsewhere", onA.Region().Drops())
		}
		if got := fromB.Region().Waiting() + onA.Region().Waiting(); got != 0 {
			t.Errorf("%d messages wait, want none", got)
		}
		if got := l.living([]string{longest, tooLong}); !slices.Equal(got, []string{longest}) {
			t.Errorf("%d ids live, want the one of 2 KiB", len(got))
		}
	})
}
