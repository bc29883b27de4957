// Troupe is the system under test.
package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/bench/driver"
	"github.com/troupe-go/troupe/bench/work"
	"github.com/troupe-go/troupe/shard"
)

func main() {
	driver.Main(driver.System{
		Works: map[string]driver.Func{
			"tell-1-1":             func(r *driver.Run) error { return tell(r, 1) },
			"tell-2-1":             func(r *driver.Run) error { return tell(r, 2) },
			"fanout-1000":          fanout,
			"ask-1":                func(r *driver.Run) error { return ask(r, 1) },
			"ask-64":               func(r *driver.Run) error { return ask(r, work.Askers) },
			"pingpong":             pingpong,
			"spawn-1m":             spawn,
			"idle-bytes":           idle,
			"skynet-1m":            skynet,
			"remote-tell-1-1":      func(r *driver.Run) error { return remoteTell(r, 1) },
			"remote-tell-64-1":     func(r *driver.Run) error { return remoteTell(r, work.Askers) },
			"remote-ask-1":         func(r *driver.Run) error { return remoteAsk(r, 1) },
			"remote-ask-64":        func(r *driver.Run) error { return remoteAsk(r, work.Askers) },
			"sharded-ask-64":       func(r *driver.Run) error { return shardedAsk(r, shard.AtLeastOnce) },
			"sharded-ask-64-once":  func(r *driver.Run) error { return shardedAsk(r, shard.AtMostOnce) },
			"sharded-tell-64":      func(r *driver.Run) error { return shardedTell(r, shard.AtLeastOnce) },
			"sharded-tell-64-once": func(r *driver.Run) error { return shardedTell(r, shard.AtMostOnce) },
			"sharded-tell-local":   shardedTellLocal,
		},
		Peers: map[string]func([]string) (string, error){
			"counter": serveCounter,
			"host":    hostEntities,
		},
	})
}

var quiet = slog.New(slog.DiscardHandler)

func newSystem() *actor.System { return actor.NewSystem(actor.Config{Log: quiet}) }

// report, in place of a count, asks for the sum.
const report = -1

type add struct{ N int64 }

// counting is an actor that counts.
func counting(sums chan<- int) actor.Start[add] {
	return func(*actor.Ctx[add]) (actor.Behavior[add], error) {
		sum := 0
		return func(_ *actor.Ctx[add], m add) error {
			if m.N == report {
				sums <- sum
				return nil
			}
			sum += int(m.N)
			return nil
		}, nil
	}
}

func tell(r *driver.Run, senders int) error {
	sums := make(chan int)
	ref, err := actor.Spawn(newSystem(), "", counting(sums), actor.Mailbox(work.Mailbox))
	if err != nil {
		return err
	}
	return tellTo(r, senders, ref, sums)
}

func tellTo(r *driver.Run, senders int, ref actor.Ref[add], sums <-chan int) error {
	ctx := context.Background()
	send := func() error { return ref.TellWait(ctx, add{1}) }
	return r.Send(senders, send, func() (int, error) {
		if err := ref.TellWait(ctx, add{report}); err != nil {
			return 0, err
		}
		return <-sums, nil
	})
}

func fanout(r *driver.Run) error {
	var handled sync.WaitGroup
	system, all := newSystem(), make([]actor.Ref[add], work.Fan)
	for i := range all {
		var err error
		all[i], err = actor.Spawn(system, "", func(*actor.Ctx[add]) (actor.Behavior[add], error) {
			sum := int64(0)
			return func(_ *actor.Ctx[add], m add) error {
				sum += m.N
				handled.Done()
				return nil
			}, nil
		}, actor.Mailbox(work.Mailbox))
		if err != nil {
			return err
		}
	}
	ctx := context.Background()
	return r.Fan(work.Fan, &handled, func(i int) error { return all[i].TellWait(ctx, add{1}) })
}

type question struct {
	N     int64
	Reply actor.Reply[int64]
}

// WithReply makes question a request that is answered with an int64.
func (q question) WithReply(r actor.Reply[int64]) question { q.Reply = r; return q }

func ask(r *driver.Run, askers int) error {
	ref, err := actor.Spawn(newSystem(), "", func(*actor.Ctx[question]) (actor.Behavior[question], error) {
		sum := int64(0)
		return func(c *actor.Ctx[question], q question) error {
			sum += q.N
			return q.Reply.Send(c, sum)
		}, nil
	})
	if err != nil {
		return err
	}
	ctx := context.Background()
	return r.Ask(askers, func(int, int) error {
		_, err := actor.Ask(ctx, ref, question{N: 1})
		return err
	})
}

type ball struct{ Left int64 }

func pingpong(r *driver.Run) error {
	done := make(chan struct{})
	player := func(other *actor.Ref[ball]) actor.Start[ball] {
		return func(*actor.Ctx[ball]) (actor.Behavior[ball], error) {
			return func(c *actor.Ctx[ball], m ball) error {
				if m.Left == 0 {
					done <- struct{}{}
					return nil
				}
				return other.Tell(c, ball{m.Left - 1})
			}, nil
		}
	}
	system := newSystem()
	var one, two actor.Ref[ball]
	one, err := actor.Spawn(system, "one", player(&two))
	if err != nil {
		return err
	}
	if two, err = actor.Spawn(system, "two", player(&one)); err != nil {
		return err
	}
	return r.Measure(func(n int) error {
		if err := one.Tell(context.Background(), ball{int64(n)}); err != nil {
			return err
		}
		<-done
		return nil
	})
}
