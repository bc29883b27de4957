package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/sbr"
)

// Every way to cut links of a small cluster, each direction by itself: at most
// one side is left when the resolvers have come to rest, and all who are left
// reach each other. The cores run whole, so that what one node sees is what
// heartbeats and gossip have told it.
//
// Four nodes have 4,096 graphs; the usual run takes a share of them, each
// other one in a run of many seeds.
func TestEveryReachabilityGraph(t *testing.T) {
	if *seedFlag > 0 {
		return
	}
	for _, strategy := range []sbr.Strategy{
		sbr.KeepMajority{}, sbr.StaticQuorum{Size: 3}, sbr.KeepOldest{DownIfAlone: true}, sbr.DownAll{}, sbr.LeaseMajority{AcquireDelay: 2 * time.Second},
	} {
		t.Run(strategy.Name(), func(t *testing.T) {
			graphs := func(size, step int) {
				var all []uint64
				for graph := 0; graph < 1<<(size*(size-1)); graph += step {
					all = append(all, uint64(graph)+1)
				}
				Run(t, all, func(w *World) {
					w.Downing = settings(sbr.Settings{Strategy: strategy})
					w.graph(size, w.seed-1)
				})
				t.Logf("%d graphs of %d nodes", len(all), size)
			}
			graphs(3, slowdown)
			graphs(4, max(1, 29*usual / *seedsFlag))
		})
	}
}

// graph cuts the links of a cluster whose bits are set, and lets it come to rest.
func (w *World) graph(size int, cuts uint64) {
	w.Start(size)
	w.Eventually(time.Minute, Converged)
	for from := range size {
		for to := range size {
			if from == to {
				continue
			}
			if cuts&1 != 0 {
				w.cutFor(time.Hour, placeAddress(from), placeAddress(to))
			}
			cuts >>= 1
		}
	}
	w.Run(90 * time.Second)
	if err := w.oneSide(); err != nil {
		w.failf("%v", err)
	}
}

// oneSide tells whether those who are left are one cluster: each sees the same
// members, they are all, and they reach each other.
func (w *World) oneSide() error {
	left := w.members()
	for _, place := range left {
		var seen []int
		for _, m := range w.nodes[place].view.Members {
			seen = append(seen, w.places[m.Address])
		}
		slices.Sort(seen)
		if !slices.Equal(seen, left) {
			return fmt.Errorf("%v are left, and node %d sees %v", left, place, seen)
		}
		for _, other := range left {
			if w.net.blocked(placeAddress(place), placeAddress(other)) {
				return fmt.Errorf("%v are left, and nothing gets from %d to %d", left, place, other)
			}
		}
	}
	return nil
}
