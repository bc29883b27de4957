package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/wire"
)

func TestRoundtripKeepsTheReply(t *testing.T) {
	p := protocol(t)
	r := actor.ReplyTo(&responder[int]{})
	got, err := p.Roundtrip(count{Of: "x", Reply: r})
	if want := (count{"x", r}); err != nil || got != Msg(want) {
		t.Errorf("Roundtrip = %#v, %v; want the reply kept: %#v", got, err, want)
	}
}

// responder is where the answer to a local ask goes.
type responder[R any] struct {
	value R
	err   error
}

func (r *responder[R]) Respond(v R) error    { r.value = v; return nil }
func (r *responder[R]) Fail(err error) error { r.err = err; return nil }

// replier is the node's way back to an asker.
type replier struct {
	payload  []byte
	err      error
	deadline time.Time
}

func (r *replier) Reply(payload []byte) error { r.payload = bytes.Clone(payload); return nil }
func (r *replier) Fail(err error) error       { r.err = err; return nil }

func (r *replier) Deadline() (time.Time, bool) { return r.deadline, !r.deadline.IsZero() }

func TestReplyTravelsBack(t *testing.T) {
	p := protocol(t)
	want := map[string]line{"a": {Who: "b"}}

	// The request leaves, here for an asker that is known by its Reply alone.
	asker := &responder[map[string]line]{}
	data, pending, err := p.Append(nil, find{reply: actor.ReplyTo[map[string]line](asker), Limit: 1})
	if err != nil || pending == nil {
		t.Fatalf("Append = %v, %v; want a pending reply", pending, err)
	}
	ended := 0
	pending.OnEnd(func() { ended++ })

	// It is answered at the other side, and the answer comes back.
	back := &replier{}
	m, err := p.Decode(data, back)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.(find).reply.Send(context.Background(), want); err != nil {
		t.Fatalf("Send = %v", err)
	}
	pending.Resolve(back.payload)
	if !reflect.DeepEqual(asker.value, want) || ended != 1 {
		t.Errorf("the asker got %v, OnEnd ran %d times; want %v, once", asker.value, ended, want)
	}
	pending.OnEnd(func() { ended++ })
	if ended != 2 {
		t.Errorf("OnEnd after the end ran %d times; want 2", ended)
	}
}

func TestUndecodableReplyFailsTheAsk(t *testing.T) {
	p := protocol(t)
	asker := &responder[int]{}
	_, pending, err := p.Append(nil, count{Reply: actor.ReplyTo[int](asker)})
	if err != nil {
		t.Fatal(err)
	}
	pending.Resolve([]byte("\x61x"))
	if !errors.Is(asker.err, wire.ErrUndecodable) {
		t.Errorf("the asker got %v, %v; want ErrUndecodable", asker.value, asker.err)
	}
}

func TestAskedMessageThatIsToldHereIsRefused(t *testing.T) {
	p := protocol(t)
	data, _, err := p.Append(nil, open{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Decode(data, &replier{}); !errors.Is(err, wire.ErrNotAsked) {
		t.Errorf("Decode of a told message with a replier = %v; want ErrNotAsked", err)
	}
}

// link is the door of an actor on another node, and that node: what is told
// through it is encoded, decoded there and handled, and the answer comes back
// encoded too.
type link struct {
	protocol *wire.Protocol[Msg]
	handle   func(Msg)
	pending  wire.Pending
}

func (l *link) Describe(string) string { return "link" }

func (l *link) Deliver(_ context.Context, _ string, m Msg) error {
	data, pending, err := l.protocol.Append(nil, m)
	if err != nil {
		return err
	}
	l.pending = pending
	there, err := l.protocol.Decode(data, l)
	if err != nil {
		return err
	}
	l.handle(there)
	return nil
}

func (l *link) Reply(payload []byte) error { l.pending.Resolve(payload); return nil }
func (l *link) Fail(err error) error {
	l.pending.Fail(wire.DecodeError(wire.AppendError(nil, err)))
	return nil
}

func TestAskOverTheWire(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l := &link{protocol: protocol(t)}
	ref := actor.NewRef[Msg](l, "there")

	l.handle = func(m Msg) {
		deadline, ok := l.pending.Deadline()
		if want, _ := ctx.Deadline(); !ok || !deadline.Equal(want) {
			t.Errorf("Deadline of the pending ask = %v, %t; want the asker's, %v", deadline, ok, want)
		}
		if err := m.(count).Reply.Send(ctx, len(m.(count).Of)); err != nil {
			t.Errorf("Send = %v", err)
		}
	}
	if n, err := actor.Ask(ctx, ref, count{Of: "four"}); n != 4 || err != nil {
		t.Errorf("Ask = %d, %v; want 4", n, err)
	}

	l.handle = func(m Msg) {
		if err := m.(count).Reply.Fail(ctx, fmt.Errorf("count: %w", errPoor)); err != nil {
			t.Errorf("Fail = %v", err)
		}
	}
	if _, err := actor.Ask(ctx, ref, count{}); !errors.Is(err, errPoor) || !strings.Contains(err.Error(), "count: ") {
		t.Errorf("Ask = %v; want the error of the other side", err)
	}

	l.handle = func(Msg) { l.pending.Resolve([]byte("no reply")) }
	if _, err := actor.Ask(ctx, ref, count{}); !errors.Is(err, wire.ErrUndecodable) {
		t.Errorf("Ask whose reply is no reply = %v; want ErrUndecodable", err)
	}
}

func TestForwardedRequestIsAnsweredWhereItCameFrom(t *testing.T) {
	p := protocol(t)
	first, _, err := p.Append(nil, count{Of: "x"})
	if err != nil {
		t.Fatal(err)
	}
	asker := &replier{deadline: at}
	m, err := p.Decode(first, asker)
	if err != nil {
		t.Fatal(err)
	}
	_, pending, err := p.Append(nil, m)
	if err != nil || pending == nil {
		t.Fatalf("Append of a request from elsewhere = %v, %v; want a pending reply", pending, err)
	}
	if got := pending.Replier(); got != wire.Replier(asker) {
		t.Errorf("Replier = %v; want the way back to the asker, %v", got, asker)
	}
	if d, ok := pending.Deadline(); !ok || !d.Equal(at) {
		t.Errorf("Deadline = %v, %t; want the asker's, %v", d, ok, at)
	}
	answer, err := wire.CBOR.Append(nil, 7)
	if err != nil {
		t.Fatal(err)
	}
	pending.Resolve(answer)
	pending.Reject(errPoor) // too late
	if string(asker.payload) != string(answer) || asker.err != nil {
		t.Errorf("the asker got %x, %v; want %x", asker.payload, asker.err, answer)
	}
}

func TestUnencodableReplyFailsTheAsk(t *testing.T) {
	p := wire.MustProtocol[Msg](wire.Request("test.find", find{}))
	data, _, err := p.Append(nil, find{})
	if err != nil {
		t.Fatal(err)
	}
	asker := &replier{}
	m, err := p.Decode(data, asker)
	if err != nil {
		t.Fatal(err)
	}
	tooLong := make(map[string]line, 65_537)
	for i := range 65_537 {
		tooLong[fmt.Sprint(i)] = line{}
	}
	err = m.(find).reply.Send(t.Context(), tooLong)
	if !errors.Is(err, wire.ErrUnencodable) || !errors.Is(asker.err, wire.ErrUnencodable) {
		t.Errorf("Send = %v, and the asker got %v; want ErrUnencodable for both", err, asker.err)
	}
}
