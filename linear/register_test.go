package linear

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/wire"
)

// An op is what can be asked of a register.
type op uint8

const (
	read op = iota // answers the value
	add            // adds A, and answers the sum
	swap           // puts B in place of A, and answers 1; or 0 if the value is not A
)

// A step is one request. Its client makes one at a time and counts them, since a
// step that changes something may come again when its owner crashed: at least once.
type step struct {
	Client, Count int
	Op            op
	A, B          int
	Reply         actor.Reply[int] `cbor:"-"`
}

// WithReply makes a step a request.
func (s step) WithReply(r actor.Reply[int]) step { s.Reply = r; return s }

// on is what the step makes of a value, and the answer: all that a register is.
func (s step) on(value int) (next, answer int) {
	switch {
	case s.Op == add:
		return value + s.A, value + s.A
	case s.Op == swap && value == s.A:
		return s.B, 1
	case s.Op == swap:
		return value, 0
	default:
		return value, value
	}
}

func (s step) String() string {
	switch s.Op {
	case add:
		return fmt.Sprintf("add(%d)", s.A)
	case swap:
		return fmt.Sprintf("swap(%d, %d)", s.A, s.B)
	default:
		return "read()"
	}
}

// A register is the entity. What it keeps is written before it answers, and reads
// are answered from memory: a node that is not the owner any more must not have it.
type register struct {
	state *shard.State
	at    store.Revision
	kept  kept
}

type kept struct {
	Value int
	Last  map[int]done // the last step that changed something, of each client
}

type done struct{ Count, Answer int }

const key = "register"

func newRegister(c *actor.Ctx[step]) (actor.Behavior[step], error) {
	state, err := shard.StateOf(c)
	if err != nil {
		return nil, err
	}
	r := &register{state: state, kept: kept{Last: map[int]done{}}}
	var e store.Entry
	err = patiently(c, func(ctx context.Context) (err error) {
		e, err = state.Get(ctx, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.at = e.Revision
	if e.Exists() {
		if err := json.Unmarshal(e.Value, &r.kept); err != nil {
			return nil, err
		}
	}
	return r.take, nil
}

func (r *register) take(c *actor.Ctx[step], s step) error {
	next, answer := s.on(r.kept.Value)
	if s.Op == read {
		return s.Reply.Send(c, answer)
	}
	if last := r.kept.Last[s.Client]; last.Count >= s.Count { // again
		return s.Reply.Send(c, last.Answer)
	}
	r.kept.Value, r.kept.Last[s.Client] = next, done{s.Count, answer}
	text, err := json.Marshal(r.kept)
	if err != nil {
		return err
	}
	err = patiently(c, func(ctx context.Context) error {
		at, err := r.state.Put(ctx, key, r.at, text)
		if err == nil {
			r.at = at
		}
		return err
	})
	if err != nil {
		return err // and start anew from what is kept
	}
	return s.Reply.Send(c, answer)
}

// patiently repeats a call of the store until it is clearly answered.
func patiently(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		try, cancel := context.WithTimeout(ctx, time.Second)
		err := call(try)
		cancel()
		if err == nil || store.Refused(err) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// newForgetful makes a register that keeps nothing: each owner begins again.
func newForgetful(*actor.Ctx[step]) (actor.Behavior[step], error) {
	value := 0
	return func(c *actor.Ctx[step], s step) error {
		var answer int
		value, answer = s.on(value)
		return s.Reply.Send(c, answer)
	}, nil
}

func protocol() *wire.Protocol[step] { return wire.MustProtocol[step](wire.Request("step", step{})) }
