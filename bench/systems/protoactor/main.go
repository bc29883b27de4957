// Protoactor is a peer: Proto.Actor for Go, by its actor and remote packages,
// with their defaults.
package main

import (
	"log/slog"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-go/troupe/bench/driver"
	"github.com/troupe-go/troupe/bench/work"
)

func main() {
	driver.Main(driver.System{
		Works: map[string]driver.Func{
			"tell-1-1":         func(r *driver.Run) error { return tell(r, 1) },
			"tell-2-1":         func(r *driver.Run) error { return tell(r, 2) },
			"fanout-1000":      fanout,
			"ask-1":            func(r *driver.Run) error { return ask(r, 1) },
			"ask-64":           func(r *driver.Run) error { return ask(r, work.Askers) },
			"pingpong":         pingpong,
			"spawn-1m":         spawn,
			"idle-bytes":       idle,
			"skynet-1m":        skynet,
			"remote-tell-1-1":  func(r *driver.Run) error { return remoteTell(r, 1) },
			"remote-tell-64-1": func(r *driver.Run) error { return remoteTell(r, work.Askers) },
			"remote-ask-1":     func(r *driver.Run) error { return remoteAsk(r, 1) },
			"remote-ask-64":    func(r *driver.Run) error { return remoteAsk(r, work.Askers) },
		},
		Peers: map[string]func([]string) (string, error){"counter": serveCounter},
	})
}

const askWithin = 30 * time.Second

func newSystem() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}))
}

// report, in place of a count, asks for the sum.
const report = -1

type add struct{ n int64 }

func tell(r *driver.Run, senders int) error {
	root := newSystem().Root
	sums := make(chan int)
	pid := root.Spawn(actor.PropsFromProducer(func() actor.Actor {
		sum := 0
		return actor.ReceiveFunc(func(c actor.Context) {
			m, ok := c.Message().(*add)
			switch {
			case !ok: // a message of the framework
			case m.n == report:
				sums <- sum
			default:
				sum += int(m.n)
			}
		})
	}))
	send := func() error {
		root.Send(pid, &add{1})
		return nil
	}
	return r.Send(senders, send, func() (int, error) {
		root.Send(pid, &add{report})
		return <-sums, nil
	})
}

func fanout(r *driver.Run) error {
	root := newSystem().Root
	var handled sync.WaitGroup
	props := actor.PropsFromProducer(func() actor.Actor {
		sum := int64(0)
		return actor.ReceiveFunc(func(c actor.Context) {
			if m, ok := c.Message().(*add); ok {
				sum += m.n
				handled.Done()
			}
		})
	})
	all := make([]*actor.PID, work.Fan)
	for i := range all {
		all[i] = root.Spawn(props)
	}
	return r.Fan(work.Fan, &handled, func(i int) error {
		root.Send(all[i], &add{1})
		return nil
	})
}

type (
	question struct{ n int64 }
	answer   struct{ sum int64 }
)

func ask(r *driver.Run, askers int) error {
	root := newSystem().Root
	pid := root.Spawn(actor.PropsFromProducer(func() actor.Actor {
		sum := int64(0)
		return actor.ReceiveFunc(func(c actor.Context) {
			if q, ok := c.Message().(*question); ok {
				sum += q.n
				c.Respond(&answer{sum})
			}
		})
	}))
	return r.Ask(askers, func(int, int) error {
		_, err := root.RequestFuture(pid, &question{1}, askWithin).Result()
		return err
	})
}

type ball struct{ left int64 }

func pingpong(r *driver.Run) error {
	root := newSystem().Root
	done := make(chan struct{})
	player := func(other **actor.PID) *actor.Props {
		return actor.PropsFromFunc(func(c actor.Context) {
			m, ok := c.Message().(*ball)
			switch {
			case !ok: // a message of the framework
			case m.left == 0:
				done <- struct{}{}
			default:
				c.Send(*other, &ball{m.left - 1})
			}
		})
	}
	var one, two *actor.PID
	one, two = root.Spawn(player(&two)), root.Spawn(player(&one))
	return r.Measure(func(n int) error {
		root.Send(one, &ball{int64(n)})
		<-done
		return nil
	})
}
