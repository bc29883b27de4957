package linear

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/troupe-go/troupe/shard"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run this seed only")
	seedsFlag = flag.Int("seeds", 3, "how many seeds to run")
)

// A register is asked by one half of the clients, which porcupine can take.
const (
	registers = 40
	clients   = 16
)

// S9: whatever happens to nodes, links and the ways to the store, registers are
// linearizable, whoever decides where they live.
func TestRegistersAreLinearizable(t *testing.T) {
	for name, ring := range map[string]*shard.Ring{"coordinator": nil, "ring": {}} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, seed uint64) {
				h := storm(t, seed, how{ring: ring, start: newRegister})
				result, info := h.check()
				if result == porcupine.Ok && len(h.ops) >= 1000 && h.open*50 < len(h.ops) {
					return
				}
				file := filepath.Join(t.ArtifactDir(), "history.html")
				if err := porcupine.VisualizePath(model, info, file); err != nil {
					t.Error(err)
				}
				t.Errorf("seed %d: %s, of %d requests %d without an answer: see %s (-artifacts keeps it); want %s, at least 1,000 and less than 1 in 50",
					seed, result, len(h.ops), h.open, file, porcupine.Ok)
			})
		})
	}
}

// TestForgottenValuesAreFound: a register that keeps nothing is found out by the
// same storms, unless none of its owners ends: so the storms would find an owner
// that acts on what it has forgotten, or has not heard.
func TestForgottenValuesAreFound(t *testing.T) {
	found, all := 0, 0
	each(t, func(t *testing.T, seed uint64) {
		result, _ := storm(t, seed, how{start: newForgetful}).check()
		if all++; result == porcupine.Illegal {
			found++
		}
	})
	if found*2 < all {
		t.Errorf("%d of %d histories are %s; want most", found, all, porcupine.Illegal)
	}
}

// each runs the test for each seed in a bubble of its own.
func each(t *testing.T, run func(*testing.T, uint64)) {
	first, last := uint64(1), uint64(*seedsFlag)
	if *seedFlag > 0 {
		first, last = *seedFlag, *seedFlag
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { run(t, seed) })
		})
	}
}

// storm has clients ask while bad things happen, and gives what they saw.
func storm(t *testing.T, seed uint64, how how) *history {
	f := newFleet(t, seed, 3+int(seed%3), how)
	defer f.end()
	f.eventually(time.Minute)
	h := &history{}
	stop := make(chan struct{})
	var asking sync.WaitGroup
	for client := range clients {
		asking.Go(func() { f.client(h, stop, client, rand.New(rand.NewPCG(seed, uint64(client)+1))) })
	}
	finish := sync.OnceFunc(func() {
		close(stop)
		asking.Wait()
	})
	defer finish()
	for range 5 + f.dice.IntN(4) {
		what := f.strike()
		t.Logf("%v %s", time.Now().Format("04:05"), what)
		time.Sleep(time.Duration(f.dice.Int64N(int64(20 * time.Second))))
	}
	f.heal()
	f.eventually(3 * time.Minute)
	time.Sleep(20 * time.Second) // and what was stored must go on being true
	finish()
	t.Logf("%d requests, %d without an answer, %d refused", len(h.ops), h.open, h.refused)
	return h
}

// client asks one register after the other. When it does not know what became of a
// step, somebody else goes on in its place, as porcupine wants it.
func (f *fleet) client(h *history, stop <-chan struct{}, name int, dice *rand.Rand) {
	half := name % 2
	seen := map[int]int{}
	for count := 1; ; count++ {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(dice.Int64N(int64(400 * time.Millisecond)))):
		}
		register := dice.IntN(registers/2)*2 + half
		s := step{Client: name, Count: count, Op: op(dice.IntN(3)), A: 1 + dice.IntN(9)}
		if s.Op == swap {
			s.A, s.B = seen[register], dice.IntN(100)
		}
		known := h.ask(register, s, func() (int, error) {
			answer, err := f.ask(dice.IntN(len(f.nodes)), register, s)
			if err == nil && s.Op != swap {
				seen[register] = answer
			}
			return answer, err
		})
		if !known {
			name += clients
		}
	}
}
