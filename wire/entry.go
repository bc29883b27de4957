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
	// types are what the codec sees of the message and its reply (nil if told).
	types() (message, reply reflect.Type)
}

// messageForm is a form in a protocol of Ms. It takes messages as they are: a value
// put into an any would be a copy on the heap, for each message.
type messageForm[M any] interface {
	// append appends the name and the payload of m.
	append(n *named, dst []byte, m M) ([]byte, error)
	// decode makes a message of a payload and attaches r.
	decode(n *named, payload []byte, r Replier) (M, error)
	// pending is the reply that m carries, nil if nobody waits for one.
	pending(n *named, m M) Pending
	// keepReply gives to, a decoded message, the reply of from.
	keepReply(from, to M) M
}

func formFor[M any](f form) messageForm[M] {
	if f, ok := f.(messageForm[M]); ok {
		return f
	}
	return oneOf[M]{f.(interface{ open() openForm }).open()}
}

// openForm is the form of a type that is told, by any.
type openForm interface {
	append(n *named, dst []byte, m any) ([]byte, error)
	decode(n *named, payload []byte, r Replier) (any, error)
}

// oneOf is the form of a type that is told where M is an interface.
type oneOf[M any] struct{ of openForm }

func (f oneOf[M]) append(n *named, dst []byte, m M) ([]byte, error) { return f.of.append(n, dst, m) }
func (f oneOf[M]) pending(*named, M) Pending                        { return nil }
func (f oneOf[M]) keepReply(_, to M) M                              { return to }

func (f oneOf[M]) decode(n *named, payload []byte, r Replier) (M, error) {
	m, err := f.of.decode(n, payload, r)
	if err != nil {
		var none M
		return none, err
	}
	return m.(M), nil
}

// told is the form of a message without a reply.
type told[T any] struct{}

func (told[T]) types() (message, reply reflect.Type) { return reflect.TypeFor[T](), nil }
func (told[T]) pending(*named, T) Pending            { return nil }
func (told[T]) keepReply(_, to T) T                  { return to }
func (told[T]) open() openForm                       { return opened[T]{} }

func (told[T]) append(n *named, dst []byte, m T) ([]byte, error) {
	if n.message != nil {
		return n.message.append(append(dst, n.header...), unsafe.Pointer(&m)), nil
	}
	return n.appendBy(dst, m)
}

func (told[T]) decode(n *named, payload []byte, r Replier) (T, error) {
	var m T
	if r != nil {
		return m, fmt.Errorf("%w: %s", ErrNotAsked, n.name)
	}
	if n.message.decode(payload, unsafe.Pointer(&m)) {
		return m, nil
	}
	into := new(T)
	err := n.decodeInto(payload, into)
	return *into, err
}

// opened is told by any.
type opened[T any] struct{}

func (opened[T]) append(n *named, dst []byte, m any) ([]byte, error) {
	return told[T]{}.append(n, dst, m.(T))
}

func (opened[T]) decode(n *named, payload []byte, r Replier) (any, error) {
	return told[T]{}.decode(n, payload, r)
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
	probe := actor.ReplyTo[R](&answerer[R]{})
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

func (a asked[M, R, Q]) append(n *named, dst []byte, m M) ([]byte, error) {
	q := any(m).(Q)
	switch {
	case n.message != nil:
		return n.message.append(append(dst, n.header...), unsafe.Pointer(&q)), nil
	case a.shadow != nil:
		seen := new(Q)
		*seen = q
		return n.appendBy(dst, a.asShadow(seen))
	default:
		return n.appendBy(dst, q)
	}
}

// asShadow is the same memory, as a pointer to the shadow type.
func (a asked[M, R, Q]) asShadow(q *Q) any {
	return reflect.NewAt(a.shadow, unsafe.Pointer(q)).Interface()
}

func (a asked[M, R, Q]) decode(n *named, payload []byte, r Replier) (M, error) {
	var none M
	var q Q
	if !n.message.decode(payload, unsafe.Pointer(&q)) {
		var err error
		if q, err = a.decodeBy(n, payload); err != nil {
			return none, err
		}
	}
	if r == nil {
		return any(q).(M), nil
	}
	return q.WithReply(actor.ReplyTo[R](&answerer[R]{n, r})), nil
}

// decodeBy has the codec decode a request.
func (a asked[M, R, Q]) decodeBy(n *named, payload []byte) (Q, error) {
	q := new(Q)
	into := any(q)
	if a.shadow != nil {
		into = a.asShadow(q)
	}
	err := n.decodeInto(payload, into)
	return *q, err
}

func (a asked[M, R, Q]) pending(n *named, m M) Pending {
	if p, ok := a.replyOf(any(m).(Q)).Promise(); ok {
		return promised[R]{p, n}
	}
	return nil
}

func (a asked[M, R, Q]) keepReply(from, to M) M {
	return any(to).(Q).WithReply(a.replyOf(any(from).(Q)))
}

func (a asked[M, R, Q]) types() (message, reply reflect.Type) {
	message = a.shadow
	if message == nil {
		message = reflect.TypeFor[Q]()
	}
	return message, reflect.TypeFor[R]()
}
