package main

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/troupe-go/troupe/bench/driver"
	"github.com/troupe-go/troupe/bench/work"
)

// startRemote starts a system that others can reach on a free port of the
// loopback interface.
func startRemote() *actor.ActorSystem {
	system := newSystem()
	remote.NewRemote(system, remote.Configure("127.0.0.1", 0)).Start()
	return system
}

// serveCounter is the other process: its actor counts the bodies that came
// whole, and answers with their number. Messages are protobuf's own wrappers,
// the same as a generated message with one field.
func serveCounter([]string) (string, error) {
	system := startRemote()
	_, err := system.Root.SpawnNamed(actor.PropsFromProducer(func() actor.Actor {
		sum := int64(0)
		return actor.ReceiveFunc(func(c actor.Context) {
			m, ok := c.Message().(*wrapperspb.BytesValue)
			if !ok {
				return // a message of the framework
			}
			if len(m.Value) == work.Body {
				sum++
			}
			if c.Sender() != nil {
				c.Respond(&wrapperspb.Int64Value{Value: sum})
			}
		})
	}), "counter")
	return system.Address(), err
}

// remoteCounter starts the other process.
func remoteCounter(r *driver.Run) (*actor.RootContext, *actor.PID, error) {
	p, err := r.Peer("counter")
	if err != nil {
		return nil, nil, err
	}
	return startRemote().Root, actor.NewPID(p.Address, "counter"), nil
}

func askCounter(root *actor.RootContext, pid *actor.PID, body []byte) (int64, error) {
	m, err := root.RequestFuture(pid, &wrapperspb.BytesValue{Value: body}, askWithin).Result()
	if err != nil {
		return 0, err
	}
	n, ok := m.(*wrapperspb.Int64Value)
	if !ok {
		return 0, fmt.Errorf("the answer is a %T", m)
	}
	return n.Value, nil
}

func remoteTell(r *driver.Run, senders int) error {
	root, pid, err := remoteCounter(r)
	if err != nil {
		return err
	}
	body := make([]byte, work.Body)
	send := func() error {
		root.Send(pid, &wrapperspb.BytesValue{Value: body})
		return nil
	}
	return r.Send(senders, send, func() (int, error) {
		n, err := askCounter(root, pid, nil)
		return int(n), err
	})
}

func remoteAsk(r *driver.Run, askers int) error {
	root, pid, err := remoteCounter(r)
	if err != nil {
		return err
	}
	body := make([]byte, work.Body)
	return r.AskTimed(askers, func(int, int) error {
		_, err := askCounter(root, pid, body)
		return err
	})
}
