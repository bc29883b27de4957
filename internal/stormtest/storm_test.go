package stormtest

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run this seed only")
	seedsFlag = flag.Int("seeds", usual, "how many seeds to run")
)

const (
	usual    = 12
	entities = 20
)

// Whole nodes in a storm: no entity acts while it lives elsewhere too, every ask
// ends in time, all is well again after the storm, and nothing is left running at
// the end.
func TestStormOfWholeNodes(t *testing.T) {
	first, last := uint64(1), uint64(*seedsFlag)
	if *seedFlag > 0 {
		first, last = *seedFlag, *seedFlag
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { storm(t, seed) })
		})
	}
}

func storm(t *testing.T, seed uint64) {
	f := newFleet(t, seed, 3+int(seed%3))
	defer func() {
		for place := range f.nodes {
			f.kill(place)
		}
	}()
	f.eventually(time.Minute)
	stop := make(chan struct{})
	var askers sync.WaitGroup
	for place := range f.nodes {
		askers.Go(func() { f.askUntil(stop, place) })
	}
	for range 4 + f.dice.IntN(5) {
		what := f.fault()
		t.Logf("%v %s", time.Now().Format("04:05"), what)
		time.Sleep(time.Duration(f.dice.Int64N(int64(25 * time.Second))))
	}
	f.weather.Heal()
	f.wake()
	close(stop)
	askers.Wait()
	f.eventually(3 * time.Minute)
}

// askUntil asks for one entity after the other.
func (f *fleet) askUntil(stop <-chan struct{}, place int) {
	for id := 0; ; id++ {
		select {
		case <-stop:
			return
		case <-time.After(50 * time.Millisecond):
			_ = f.ask(place, id%entities) // it may fail now, in time
		}
	}
}

// fault does something bad to the fleet.
func (f *fleet) fault() string {
	place := f.dice.IntN(len(f.nodes))
	switch f.dice.IntN(7) {
	case 0:
		f.kill(place)
		f.weather.After(f.weather.Between(0, 20*time.Second), f.restart)
		return fmt.Sprintf("crash of %d", place)
	case 1:
		d := f.weather.Between(100*time.Millisecond, 40*time.Second)
		f.pause(place, d)
		return fmt.Sprintf("pause of %d for %v", place, d)
	default:
		return f.weather.Strike()
	}
}

// restart runs a node anew wherever one has ended.
func (f *fleet) restart() {
	for place := range f.nodes {
		n, _ := f.at(place)
		select {
		case <-n.Done():
			f.start(place)
		default:
		}
	}
}

// eventually waits until all places have a node that sees all Up, and all
// entities answer through each. Nodes that have ended are started again.
func (f *fleet) eventually(limit time.Duration) {
	f.t.Helper()
	for began := time.Now(); ; time.Sleep(time.Second) {
		f.restart()
		err := f.settled()
		if err == nil {
			return
		}
		if time.Since(began) > limit {
			f.t.Fatalf("after %v: %v", limit, err)
		}
	}
}

func (f *fleet) settled() error {
	for place := range f.nodes {
		n, _ := f.at(place)
		up := 0
		for _, m := range n.View().Members {
			if m.Status == member.Up && n.View().Reachable(m.ID) {
				up++
			}
		}
		if up != len(f.nodes) || !n.View().Converged {
			return fmt.Errorf("node %d sees %d of %d up: %v", place, up, len(f.nodes), n.View().Members)
		}
	}
	for place := range f.nodes {
		for id := range entities {
			if err := f.ask(place, id); err != nil {
				return fmt.Errorf("#%d through node %d: %w", id, place, err)
			}
		}
	}
	return nil
}
