package main

import (
	"fmt"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-go/troupe/bench/driver"
	"github.com/troupe-go/troupe/bench/work"
)

// fill spawns n actors, sends each one message and waits until all have it.
func fill(system *actor.ActorSystem, n int, sums []int64) {
	var handled atomic.Int64
	done := make(chan struct{})
	next := atomic.Int64{}
	props := actor.PropsFromProducer(func() actor.Actor {
		sum := &sums[next.Add(1)-1]
		return actor.ReceiveFunc(func(c actor.Context) {
			m, ok := c.Message().(*add)
			if !ok {
				return // a message of the framework
			}
			*sum += m.n
			if handled.Add(1) == int64(n) {
				close(done)
			}
		})
	})
	for range n {
		system.Root.Send(system.Root.Spawn(props), &add{1})
	}
	<-done
}

func spawn(r *driver.Run) error {
	system, sums := newSystem(), make([]int64, r.N)
	return r.MeasureCold(func(n int) error {
		fill(system, n, sums)
		return nil
	})
}

var kept *actor.ActorSystem // until the process ends

func idle(r *driver.Run) error {
	kept = newSystem()
	sums := make([]int64, r.N)
	clear(sums) // resident before
	return r.Resident(func(n int) error {
		fill(kept, n, sums)
		return nil
	})
}

type (
	// part is what a child of the tree is to sum up.
	part struct{ number, size int64 }
	// partSum is its answer.
	partSum struct{ sum int64 }
)

// node of the tree: a leaf says its number, others the sum of their children.
// Each ends when it has.
func node(parent func(c actor.Context, sum int64)) actor.Producer {
	return func() actor.Actor {
		sum, missing := int64(0), 0
		finish := func(c actor.Context, sum int64) {
			parent(c, sum)
			c.Stop(c.Self())
		}
		return actor.ReceiveFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case *part:
				if m.size == 1 {
					finish(c, m.number)
					return
				}
				missing = work.Branch
				grow(c, m)
			case *partSum:
				sum += m.sum
				if missing--; missing == 0 {
					finish(c, sum)
				}
			}
		})
	}
}

// grow spawns the children of c and gives each its part.
func grow(c actor.Context, m *part) {
	self, size := c.Self(), m.size/work.Branch
	child := actor.PropsFromProducer(node(func(c actor.Context, sum int64) { c.Send(self, &partSum{sum}) }))
	for i := range int64(work.Branch) {
		c.Send(c.Spawn(child), &part{m.number + i*size, size})
	}
}

func skynet(r *driver.Run) error {
	root := newSystem().Root
	result := make(chan int64, 1)
	return r.MeasureCold(func(n int) error {
		top := root.Spawn(actor.PropsFromProducer(node(func(_ actor.Context, sum int64) { result <- sum })))
		root.Send(top, &part{0, int64(n)})
		if got, want := <-result, int64(n)*int64(n-1)/2; got != want {
			return fmt.Errorf("the sum is %d, not %d", got, want)
		}
		return nil
	})
}
