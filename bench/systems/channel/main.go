// Channel is a floor: what plain Go needs for the same local work when an actor
// is a goroutine that reads from a channel.
package main

import (
	"sync"

	"github.com/troupe-go/troupe/bench/driver"
	"github.com/troupe-go/troupe/bench/work"
)

func main() {
	driver.Main(driver.System{Works: map[string]driver.Func{
		"tell-1-1":    func(r *driver.Run) error { return tell(r, 1) },
		"tell-2-1":    func(r *driver.Run) error { return tell(r, 2) },
		"fanout-1000": fanout,
		"ask-1":       func(r *driver.Run) error { return ask(r, 1) },
		"ask-64":      func(r *driver.Run) error { return ask(r, work.Askers) },
		"pingpong":    pingpong,
		"spawn-1m":    spawn,
		"idle-bytes":  idle,
		"skynet-1m":   skynet,
	}})
}

// report, in place of a count, asks for the sum.
const report = -1

type add struct{ n int64 }

// counter is the actor.
func counter(in <-chan add, sums chan<- int) {
	sum := 0
	for m := range in {
		if m.n == report {
			sums <- sum
			continue
		}
		sum += int(m.n)
	}
}

func tell(r *driver.Run, senders int) error {
	in, sums := make(chan add, work.Mailbox), make(chan int)
	go counter(in, sums)
	send := func() error {
		in <- add{1}
		return nil
	}
	return r.Send(senders, send, func() (int, error) {
		in <- add{report}
		return <-sums, nil
	})
}

func fanout(r *driver.Run) error {
	var handled sync.WaitGroup
	all := make([]chan add, work.Fan)
	for i := range all {
		in := make(chan add, work.Mailbox)
		all[i] = in
		go func() {
			sum := int64(0)
			for m := range in {
				sum += m.n
				handled.Done()
			}
		}()
	}
	return r.Fan(work.Fan, &handled, func(i int) error {
		all[i] <- add{1}
		return nil
	})
}

type question struct {
	n     int64
	reply chan<- int64
}

func ask(r *driver.Run, askers int) error {
	in := make(chan question, work.Mailbox)
	go func() {
		sum := int64(0)
		for q := range in {
			sum += q.n
			q.reply <- sum
		}
	}()
	replies := make([]chan int64, askers)
	for i := range replies {
		replies[i] = make(chan int64, 1)
	}
	return r.Ask(askers, func(asker, _ int) error {
		in <- question{1, replies[asker]}
		<-replies[asker]
		return nil
	})
}

func pingpong(r *driver.Run) error {
	ping, pong, done := make(chan int64, 1), make(chan int64, 1), make(chan struct{})
	play := func(in <-chan int64, out chan<- int64) {
		for left := range in {
			if left == 0 {
				done <- struct{}{}
				continue
			}
			out <- left - 1
		}
	}
	go play(ping, pong)
	go play(pong, ping)
	return r.Measure(func(n int) error {
		ping <- int64(n)
		<-done
		return nil
	})
}
