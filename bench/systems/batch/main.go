// Batch is a floor: what plain Go needs for the same local work when an actor
// is a queue under a mutex and a goroutine that lives while there are messages.
package main

import (
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/bench/driver"
	"github.com/troupe-go/troupe/bench/work"
)

func main() {
	driver.Main(driver.System{Works: map[string]driver.Func{
		"tell-1-1":    func(r *driver.Run) error { return tell(r, 1) },
		"tell-2-1":    func(r *driver.Run) error { return tell(r, 2) },
		"fanout-1000": fanout,
		"spawn-1m":    spawn,
		"idle-bytes":  idle,
	}})
}

type add struct{ n int64 }

// report, in place of a count, asks for the sum.
const report = -1

func tell(r *driver.Run, senders int) error {
	sum, sums := 0, make(chan int)
	b := newBox(work.Mailbox, func(m add) {
		if m.n == report {
			sums <- sum
			return
		}
		sum += int(m.n)
	})
	send := func() error {
		b.tell(add{1})
		return nil
	}
	return r.Send(senders, send, func() (int, error) {
		b.tell(add{report})
		return <-sums, nil
	})
}

func fanout(r *driver.Run) error {
	var handled sync.WaitGroup
	all := make([]*box, work.Fan)
	for i := range all {
		sum := int64(0)
		all[i] = newBox(work.Mailbox, func(m add) {
			sum += m.n
			handled.Done()
		})
	}
	return r.Fan(work.Fan, &handled, func(i int) error {
		all[i].tell(add{1})
		return nil
	})
}

// crowd is a registry of named actors.
type crowd map[string]*box

// fill makes n actors, sends each one message and waits until all have it.
func (c crowd) fill(n int, sums []int64) {
	var handled atomic.Int64
	done := make(chan struct{})
	for i := range n {
		sum := &sums[i]
		b := newBox(unbounded, func(m add) {
			*sum += m.n
			if handled.Add(1) == int64(n) {
				close(done)
			}
		})
		c[strconv.Itoa(i)] = b
		b.tell(add{1})
	}
	<-done
}

func spawn(r *driver.Run) error {
	c, sums := crowd{}, make([]int64, r.N)
	return r.MeasureCold(func(n int) error {
		c.fill(n, sums)
		return nil
	})
}

var kept crowd // until the process ends

func idle(r *driver.Run) error {
	kept = crowd{}
	sums := make([]int64, r.N)
	clear(sums) // resident before
	return r.Resident(func(n int) error {
		kept.fill(n, sums)
		return nil
	})
}
