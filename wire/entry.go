package wire

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/troupe-go/troupe/actor"
)

// Entry is one named message of a protocol: see [Message] and [Request].
type Entry struct {
	name    string
	codec   Codec
	zero    any          // a T or Q
	typ     reflect.Type // of zero
	answers reflect.Type // the M that WithReply of a request gives; nil if it is told
	form    form
	err     error // what is wrong with it; NewProtocol reports it
}

// An EntryOption varies one entry.
type EntryOption interface{ apply(*Entry) }

// With chooses the codec of a message, and of its reply.
func With(c Codec) EntryOption { return withCodec{c} }

type withCodec struct{ Codec }

func (w withCodec) apply(e *Entry) { e.codec = w.Codec }

// Message names a message that is told. zero only gives the type; T may be a
// pointer if that is what implements the actor's message type.
func Message[T any](name string, zero T, opts ...EntryOption) Entry {
	e := newEntry(name, zero, opts)
	e.form = told[T]{}
	return e
}

// Request names a message that is asked; its reply travels with the same codec.
// Q is a struct with one field of type actor.Reply[R], exported or not. The
// field does not travel: the reply is attached again by WithReply. M, R and Q
// are inferred from zero.
func Request[M, R any, Q actor.Request[M, R]](name string, zero Q, opts ...EntryOption) Entry {
	e := newEntry(name, zero, opts)
	e.answers = reflect.TypeFor[M]()
	if e.err != nil {
		return e
	}
	e.form, e.err = newAsked[M, R](zero, e.codec)
	return e
}

func newEntry(name string, zero any, opts []EntryOption) Entry {
	e := Entry{name: name, codec: CBOR, zero: zero, typ: reflect.TypeOf(zero)}
	for _, o := range opts {
		o.apply(&e)
	}
	switch {
	case e.typ == nil:
		e.err = errors.New("name a concrete type, not an interface")
	case e.codec == nil:
		e.err = errors.New("the codec is nil")
	}
	return e
}

// A form is what a protocol does with one Go type. It is generic below this
// interface, so that no message is converted by reflection on its way.
type form interface {
	// visible is what the codec encodes for m.
	visible(m any) any
	// decode makes a message of a payload and attaches r.
	decode(n *named, payload []byte, r Replier) (any, error)
	// pending is the reply that m carries, nil if nobody waits for one.
	pending(n *named, m any) Pending
	// keepReply gives to, a decoded message, the reply of from.
	keepReply(from, to any) any
	// types are what the codec sees of the message and its reply (nil if told).
	types() (message, reply reflect.Type)
}

// told is the form of a message without a reply.
type told[T any] struct{}

func (told[T]) visible(m any) any                    { return m }
func (told[T]) pending(*named, any) Pending          { return nil }
func (told[T]) keepReply(_, to any) any              { return to }
func (told[T]) types() (message, reply reflect.Type) { return reflect.TypeFor[T](), nil }

func (told[T]) decode(n *named, payload []byte, r Replier) (any, error) {
	if r != nil {
		return nil, fmt.Errorf("%w: %s", ErrNotAsked, n.name)
	}
	m := new(T)
	err := n.decodeInto(payload, m)
	return *m, err
}

// asked is the form of a request.
type asked[M, R any, Q actor.Request[M, R]] struct {
	offset uintptr // of the Reply in a Q
	// shadow is Q with the Reply hidden from the codecs that work by
	// reflection: the same memory, other tags. Nil if the codec sees a Q.
	shadow reflect.Type
}

func newAsked[M, R any, Q actor.Request[M, R]](zero Q, c Codec) (form, error) {
	field, err := replyField(reflect.TypeFor[Q](), reflect.TypeFor[actor.Reply[R]]())
	if err != nil {
		return nil, err
	}
	a := asked[M, R, Q]{offset: field.Offset}
	probe := actor.ReplyTo[R](&answerer{})
	with, ok := any(zero.WithReply(probe)).(Q)
	if !ok || a.replyOf(with) != probe {
		return nil, fmt.Errorf("WithReply of %T does not return it with field %s set", zero, field.Name)
	}
	if s, ok := c.(structural); ok && s.rules().ownFormOf(reflect.TypeFor[Q]()) == nil {
		if a.shadow, err = shadowOf(reflect.TypeFor[Q](), field.Name); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func replyField(q, reply reflect.Type) (reflect.StructField, error) {
	var found []reflect.StructField
	if q.Kind() == reflect.Struct {
		for f := range q.Fields() {
			if f.Type == reply {
				found = append(found, f)
			}
		}
	}
	if len(found) != 1 {
		return reflect.StructField{}, fmt.Errorf("%v has %d fields of type %v: a request is a struct with exactly one", q, len(found), reply)
	}
	return found[0], nil
}

// shadowOf is q with the tags of one field changed so that codecs leave it out.
func shadowOf(q reflect.Type, hide string) (t reflect.Type, err error) {
	defer func() { // StructOf cannot make some embedded fields
		if r := recover(); r != nil {
			err = fmt.Errorf("field %s cannot be hidden from the codec, because %v embeds a type with methods: make that a named field", hide, q)
		}
	}()
	var fields []reflect.StructField
	for f := range q.Fields() {
		if f.Name == hide {
			f.Tag = `cbor:"-" json:"-"`
		}
		fields = append(fields, f)
	}
	t = reflect.StructOf(fields)
	if !q.ConvertibleTo(t) {
		return nil, fmt.Errorf("field %s cannot be hidden from the codec: %v and %v differ in memory", hide, q, t)
	}
	return t, nil
}

// replyOf reads the Reply of q, which may be unexported, in place.
func (a asked[M, R, Q]) replyOf(q Q) actor.Reply[R] {
	return *(*actor.Reply[R])(unsafe.Add(unsafe.Pointer(&q), a.offset))
}

func (a asked[M, R, Q]) visible(m any) any {
	if a.shadow == nil {
		return m
	}
	q := m.(Q)
	return a.asShadow(&q)
}

// asShadow is the same memory, as a pointer to the shadow type.
func (a asked[M, R, Q]) asShadow(q *Q) any {
	return reflect.NewAt(a.shadow, unsafe.Pointer(q)).Interface()
}

func (a asked[M, R, Q]) decode(n *named, payload []byte, r Replier) (any, error) {
	q := new(Q)
	into := any(q)
	if a.shadow != nil {
		into = a.asShadow(q)
	}
	if err := n.decodeInto(payload, into); err != nil || r == nil {
		return any(*q), err
	}
	return (*q).WithReply(actor.ReplyTo[R](&answerer{n, r})), nil
}

func (a asked[M, R, Q]) pending(n *named, m any) Pending {
	if p, ok := a.replyOf(m.(Q)).Promise(); ok {
		return promised{p, n}
	}
	return nil
}

func (a asked[M, R, Q]) keepReply(from, to any) any {
	return to.(Q).WithReply(a.replyOf(from.(Q)))
}

func (a asked[M, R, Q]) types() (message, reply reflect.Type) {
	message = a.shadow
	if message == nil {
		message = reflect.TypeFor[Q]()
	}
	return message, reflect.TypeFor[R]()
}
