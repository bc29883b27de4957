package shard

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// The directory agrees with a map over random additions and removals.
func TestDirectoryIsAMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var tab directory[int]
	tab.init()
	want := map[string]*entity[int]{}
	for step := range 50_000 {
		id := fmt.Sprint(rnd.IntN(3000))
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
		if tab.size() != len(want) {
			t.Fatalf("step %d: size %d, want %d", step, tab.size(), len(want))
		}
	}
	for _, e := range want {
		tab.remove(e)
	}
	for i := range tab.parts {
		if p := &tab.parts[i]; p.live != 0 || p.table.Load() != nil {
			t.Errorf("part %d keeps %d entities and its memory", i, p.live)
		}
	}
}

func (d *directory[M]) size() (n int) {
	for i := range d.parts {
		n += d.parts[i].live
	}
	return n
}

// Readers without the lock always find what stays in, whatever a writer does.
func TestDirectoryReadersFindWhatStays(t *testing.T) {
	var tab directory[int]
	tab.init()
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
