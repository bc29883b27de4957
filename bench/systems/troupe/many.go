package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/bench/driver"
	"github.com/troupe-go/troupe/bench/work"
)

// fill spawns n actors, tells each one message and waits until all have it.
func fill(system *actor.System, n int, sums []int64) error {
	ctx := context.Background()
	var handled atomic.Int64
	done := make(chan struct{})
	for i := range n {
		sum := &sums[i]
		ref, err := actor.Spawn(system, "", func(*actor.Ctx[add]) (actor.Behavior[add], error) {
			return func(_ *actor.Ctx[add], m add) error {
				*sum += m.N
				if handled.Add(1) == int64(n) {
					close(done)
				}
				return nil
			}, nil
		})
		if err != nil {
			return err
		}
		if err := ref.Tell(ctx, add{1}); err != nil {
			return err
		}
	}
	<-done
	return nil
}

func spawn(r *driver.Run) error {
	system, sums := newSystem(), make([]int64, r.N)
	return r.MeasureCold(func(n int) error { return fill(system, n, sums) })
}

var kept *actor.System // until the process ends

func idle(r *driver.Run) error {
	kept = newSystem()
	sums := make([]int64, r.N)
	clear(sums) // resident before
	return r.Resident(func(n int) error { return fill(kept, n, sums) })
}

// branch is the message of the tree: downwards the part of a child; upwards,
// with size 0, a child's sum.
type branch struct{ number, size int64 }

// node of the tree: a leaf says its number, others the sum of their children.
// Each ends when it has.
func node(parent func(c *actor.Ctx[branch], sum int64) error) actor.Start[branch] {
	return func(*actor.Ctx[branch]) (actor.Behavior[branch], error) {
		sum, missing := int64(0), 0
		finish := func(c *actor.Ctx[branch], sum int64) error {
			c.Stop()
			return parent(c, sum)
		}
		return func(c *actor.Ctx[branch], m branch) error {
			switch m.size {
			case 0:
				sum += m.number
				if missing--; missing == 0 {
					return finish(c, sum)
				}
			case 1:
				return finish(c, m.number)
			default:
				missing = work.Branch
				return grow(c, m)
			}
			return nil
		}, nil
	}
}

// grow spawns the children of c and gives each its part.
func grow(c *actor.Ctx[branch], m branch) error {
	self, part := c.Self(), m.size/work.Branch
	answer := func(c *actor.Ctx[branch], sum int64) error { return self.Tell(c, branch{number: sum}) }
	for i := range int64(work.Branch) {
		child, err := actor.Spawn(c, "", node(answer))
		if err != nil {
			return err
		}
		if err := child.Tell(c, branch{m.number + i*part, part}); err != nil {
			return err
		}
	}
	return nil
}

func skynet(r *driver.Run) error {
	system, result := newSystem(), make(chan int64, 1)
	root := node(func(_ *actor.Ctx[branch], sum int64) error {
		result <- sum
		return nil
	})
	return r.MeasureCold(func(n int) error {
		ref, err := actor.Spawn(system, "", root)
		if err != nil {
			return err
		}
		if err := ref.Tell(context.Background(), branch{size: int64(n)}); err != nil {
			return err
		}
		if got, want := <-result, int64(n)*int64(n-1)/2; got != want {
			return fmt.Errorf("the sum is %d, not %d", got, want)
		}
		return nil
	})
}
