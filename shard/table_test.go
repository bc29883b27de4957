package shard

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"testing"
)

// The table agrees with a map over random additions and removals.
func TestTableIsAMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	tab := table[int]{seed: maphash.MakeSeed()}
	want := map[string]*entity[int]{}
	for step := range 20_000 {
		id := fmt.Sprint(rnd.IntN(300))
		switch e, ok := want[id]; {
		case ok && rnd.IntN(2) == 0:
			tab.remove(e)
			delete(want, id)
			tab.remove(e) // once more does nothing
		case !ok:
			e := &entity[int]{id: id}
			tab.add(e)
			want[id] = e
		}
		if got := tab.find(id); got != want[id] {
			t.Fatalf("step %d: find %s gives %v, want %v", step, id, got, want[id])
		}
		if tab.size != len(want) {
			t.Fatalf("step %d: size %d, want %d", step, tab.size, len(want))
		}
	}
	seen := 0
	for e := range tab.all() {
		if want[e.id] != e {
			t.Errorf("%s is in the table and not in the map", e.id)
		}
		seen++
		tab.remove(e)
	}
	if seen == 0 || tab.size != 0 || tab.buckets.Load() != nil {
		t.Errorf("%d entities seen, %d left", seen, tab.size)
	}
}

// Readers without the lock always find what stays in, whatever a writer does.
func TestTableReadersFindWhatStays(t *testing.T) {
	tab := table[int]{seed: maphash.MakeSeed()}
	stays := make([]*entity[int], 50)
	for i := range stays {
		stays[i] = &entity[int]{id: fmt.Sprint("stays-", i)}
		tab.add(stays[i])
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, e := range stays {
					if tab.find(e.id) != e {
						t.Errorf("%s was not found", e.id)
						return
					}
				}
			}
		})
	}
	for range 30 {
		var come []*entity[int]
		for i := range 500 {
			e := &entity[int]{id: fmt.Sprint("comes-", i)}
			tab.add(e)
			come = append(come, e)
		}
		for _, e := range come {
			tab.remove(e)
		}
	}
	close(stop)
	wg.Wait()
}
