package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/sbr"
	"github.com/troupe-go/troupe/store"
)

// part cuts everything between two groups of nodes, and heal undoes it.
func (w *world) part(as, bs []*troupe.Node) (heal func()) {
	pairs := func(f func(a, b troupe.Address)) {
		for _, a := range as {
			for _, b := range bs {
				f(a.ID().Address, b.ID().Address)
				f(b.ID().Address, a.ID().Address)
			}
		}
	}
	pairs(w.net.Cut)
	return func() { pairs(w.net.Heal) }
}

// lives tells which of the nodes have not been downed after a while.
func (w *world) lives(after time.Duration, nodes []*troupe.Node) []*troupe.Node {
	w.t.Helper()
	time.Sleep(after)
	var alive []*troupe.Node
	for _, n := range nodes {
		select {
		case <-n.Done():
			if !errors.Is(n.Err(), troupe.ErrDowned) {
				w.t.Errorf("%s ended: %v, want ErrDowned", n.ID(), n.Err())
			}
		default:
			alive = append(alive, n)
		}
	}
	return alive
}

func TestStoreDecidesBetweenSides(t *testing.T) {
	for _, tt := range []struct {
		name string
		side []int // against the others
		want []int // survive; nil: one of the two sides
	}{
		{"the larger side asks first", []int{2}, []int{0, 1, 3}},
		{"of equal sides that of the lowest address", []int{0, 3}, []int{0, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				shared := store.NewMemory()
				w.change = withStore(shared)
				nodes := w.startAll(4)
				var here, there, want []*troupe.Node
				for i, n := range nodes {
					if slices.Contains(tt.side, i) {
						here = append(here, n)
					} else {
						there = append(there, n)
					}
					if slices.Contains(tt.want, i) {
						want = append(want, n)
					}
				}
				w.part(here, there)
				if got := w.lives(time.Minute, nodes); !slices.Equal(got, want) {
					t.Errorf("%d survive, want %v", len(got), tt.want)
				}
				w.sees(time.Minute, want, want)
			})
		})
	}
}

// The larger side cannot reach the store: the smaller one survives.
func TestMinorityWithTheStoreSurvives(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		shared := store.NewMemory()
		broken := &brokenStore{Store: shared}
		nodes := make([]*troupe.Node, 5)
		for i := range nodes {
			var s store.Store = shared
			if i < 3 {
				s = broken
			}
			nodes[i] = w.startWith(fmt.Sprintf("n%d", i+1), withStore(s))
		}
		w.sees(time.Minute, nodes, nodes)
		broken.off()
		w.part(nodes[:3], nodes[3:])
		if got := w.lives(time.Minute, nodes); !slices.Equal(got, nodes[3:]) {
			t.Errorf("%d nodes survive, want the two that reach the store", len(got))
		}
	})
}

// brokenStore grants no lease once it is off.
type brokenStore struct {
	store.Store
	mu   sync.Mutex
	dead bool
}

func (b *brokenStore) off() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dead = true
}

func (b *brokenStore) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (store.Holding, error) {
	b.mu.Lock()
	dead := b.dead
	b.mu.Unlock()
	if dead {
		return store.Holding{}, fmt.Errorf("%w: out of order", store.ErrUnknown)
	}
	return b.Store.Acquire(ctx, name, owner, ttl)
}

// lateStore carries out at once, and answers late for a while.
type lateStore struct {
	store.Store
	mu   sync.Mutex
	rand *rand.Rand
	last time.Time // answers are late until then
}

func (l *lateStore) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (store.Holding, error) {
	got, err := l.Store.Acquire(ctx, name, owner, ttl)
	l.mu.Lock()
	var late time.Duration
	if time.Now().Before(l.last) {
		late = time.Duration(l.rand.Int64N(int64(4 * time.Second)))
	}
	l.mu.Unlock()
	select {
	case <-time.After(late):
		return got, err
	case <-ctx.Done():
		return store.Holding{}, fmt.Errorf("%w: %w", store.ErrUnknown, ctx.Err())
	}
}

// Two and two nodes, and answers of the store that come too late: one side
// survives, and only one.
func TestDWN02DelayedAnswersOfTheStore(t *testing.T) {
	for seed := range uint64(10) {
		inWorld(t, func(t *testing.T, w *world) {
			late := &lateStore{Store: store.NewMemory(), rand: rand.New(rand.NewPCG(seed, 1))}
			w.change = withStore(late)
			nodes := w.startAll(4)
			w.part(nodes[:2], nodes[2:])
			late.mu.Lock()
			late.last = time.Now().Add(12*time.Second + time.Duration(late.rand.Int64N(int64(4*time.Second))))
			late.mu.Unlock()
			got := w.lives(time.Minute, nodes)
			if !slices.Equal(got, nodes[:2]) && !slices.Equal(got, nodes[2:]) {
				t.Errorf("seed %d: %d nodes survive, want exactly one side", seed, len(got))
			}
		})
	}
}

// What the resolver notices and decides is an event, told in order with what it
// does to members, and one line of the log.
func TestDecisionIsAnEventAndALine(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var log safeBuffer
		w.change = func(c *troupe.Config) {
			if c.Listen == "n1:2552" {
				c.Log = slog.New(slog.NewTextHandler(&log, nil))
			}
		}
		nodes := w.startAll(3)
		told := make(chan string, 100)
		defer nodes[0].Events(func(e troupe.Event) {
			switch e := e.(type) {
			case troupe.Downing:
				told <- strings.TrimPrefix(fmt.Sprintf("%T", e.News), "sbr.")
			case gossip.MemberChanged:
				told <- e.Member.Status.String()
			}
		})()
		w.part(nodes[:2], nodes[2:])
		w.lives(time.Minute, nodes)
		for _, want := range []string{"Noticed", "Decision", "Down"} {
			if got := <-told; got != want {
				t.Errorf("told %s, want %s", got, want)
			}
		}
		lines := 0
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "split brain resolver") {
				lines++
				for _, want := range []string{"keep-majority, after", "downs n3:2552", "because 2 of the members", "seen so by n1:2552"} {
					if !strings.Contains(line, want) {
						t.Errorf("the line does not say %q: %s", want, line)
					}
				}
			}
		}
		if lines != 1 {
			t.Errorf("%d lines about the decision, want 1\n%s", lines, log.String())
		}
	})
}

func TestDryRunDownsNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.change = func(c *troupe.Config) { c.Downing.DryRun = true }
		nodes := w.startAll(5)
		var mu sync.Mutex
		rehearsed, back := 0, 0
		defer nodes[0].Events(func(e troupe.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e, ok := e.(troupe.Downing); ok {
				switch news := e.News.(type) {
				case sbr.Decision:
					rehearsed++
					if !news.DryRun || len(news.Down) != 2 {
						t.Errorf("decided %s, want a dry run about two", news)
					}
				case sbr.CameBack:
					back++
				}
			}
		})()
		heal := w.part(nodes[:3], nodes[3:])
		if got := w.lives(2*time.Minute, nodes); len(got) != 5 {
			t.Fatalf("%d of 5 nodes live after a dry run", len(got))
		}
		if why := nodes[0].Why().String(); !strings.Contains(why, "dry run") {
			t.Errorf("Why does not tell of the dry run:\n%s", why)
		}
		heal()
		w.sees(time.Minute, nodes, nodes)
		mu.Lock()
		defer mu.Unlock()
		if rehearsed != 1 || back != 1 {
			t.Errorf("%d decisions rehearsed and %d told to be over, want one each", rehearsed, back)
		}
	})
}

func TestWhatIfOfANode(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(4)
		o := nodes[2].WhatIf()
		if o.Counted != 4 || o.Crashes != 1 || len(o.Splits) != 2 || o.Splits[1].Of != nodes[0].ID() {
			t.Errorf("what if: %+v\n%s", o, o)
		}
	})
}

func TestDowningIsCheckedAtStart(t *testing.T) {
	for _, tt := range []struct {
		downing sbr.Settings
		want    string
	}{
		{sbr.Settings{Strategy: sbr.LeaseMajority{}}, "set Store, or use sbr.KeepMajority"},
		{sbr.Settings{Strategy: sbr.StaticQuorum{}}, "StaticQuorum.Size is 0"},
		{sbr.Settings{StableAfter: 100 * time.Hour}, "StableAfter is 100h"},
	} {
		n, err := troupe.Start(t.Context(), troupe.Config{Downing: tt.downing})
		if err == nil {
			n.Kill()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.downing, err, tt.want)
		}
	}
}
