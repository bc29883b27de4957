// Package wire names the messages that travel between nodes and turns them
// into bytes and back.
//
// A [Protocol] lists, once, the messages that one kind of actor takes from
// other nodes. Each has a wire name that outlives its Go type, and a [Codec]:
// [CBOR] unless the entry says otherwise. What is not listed never leaves the
// node: [Protocol.Check] tells so before the message is put into any queue.
//
//	var Protocol = wire.MustProtocol[Msg](
//		wire.Message("door.open", Open{}),
//		wire.Request("door.count", Count{}),
//	)
//
// # What is guaranteed
//
// A type that could not travel whole (it holds a Ref, a func, a chan, an
// interface, an unexported field, itself) is refused when the protocol is made,
// with the path to the field. A message from a newer version never breaks a
// link: an unknown name is an error that the receiver counts, unknown fields
// are skipped and counted. A codec that panics is an error of that message
// alone. What Decode returns shares no memory with its input. Equal messages
// have equal bytes: no map order reaches the wire.
//
// # Concurrency
//
// All functions and methods are safe for concurrent use; none blocks, except
// in a user's own codec.
package wire

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/actor"
)

// Errors that a peer may see too.
const (
	// ErrNotNamed refuses a message whose type has no wire name in the
	// protocol, so it cannot leave the node. See [NotNamedError].
	ErrNotNamed = actor.Error("wire: message has no wire name")
	// ErrUnknownName refuses a message whose name is not in the protocol,
	// usually one from a newer version: count it and go on.
	ErrUnknownName = actor.Error("wire: unknown message name")
	// ErrUnencodable refuses a value that its codec could not encode.
	ErrUnencodable = actor.Error("wire: message cannot be encoded")
	// ErrUndecodable refuses bytes that are not what their name promises.
	ErrUndecodable = actor.Error("wire: message cannot be decoded")
	// ErrNotAsked refuses a message that was asked by the sender but is only
	// told in this node's protocol, so nobody would answer.
	ErrNotAsked = actor.Error("wire: message takes no reply here")
)

// A NotNamedError says which message cannot leave the node; errors.Is finds
// [ErrNotNamed] in it.
type NotNamedError struct {
	Type string // the Go type of the message
	Of   string // the Go type whose protocol does not list it
}

func (e *NotNamedError) Error() string {
	return fmt.Sprintf("%v: %s is not in the protocol of %s: list it with wire.Message or wire.Request, or keep it on the node",
		ErrNotNamed, e.Type, e.Of)
}

func (e *NotNamedError) Unwrap() error { return ErrNotNamed }

// Protocol is the set of messages of one kind of actor that may travel.
type Protocol[M any] struct {
	only          *listed[M] // the one there can be, if M is a concrete type
	byType        map[reflect.Type]*listed[M]
	byName        map[string]*listed[M]
	schema        string
	unknownNames  atomic.Uint64
	unknownFields atomic.Uint64
}

// listed is an entry of a protocol of Ms.
type listed[M any] struct {
	named
	form messageForm[M]
}

// named is an entry that was found good.
type named struct {
	Entry
	header     []byte // uvarint length of the name, and the name
	message    *plan  // nil: the codec does it
	reply      *plan  // likewise
	unencoded  atomic.Uint64
	undecoded  atomic.Uint64
	buffers    sync.Pool      // of *[]byte, for replies
	fieldsSeen *atomic.Uint64 // the protocol's count of messages with unknown fields
}

// NewProtocol checks the entries and reports all that is wrong with them
// together: each name and each type is listed once, each type is an M and can
// travel whole with its codec.
func NewProtocol[M any](entries ...Entry) (*Protocol[M], error) {
	p := &Protocol[M]{
		byType: make(map[reflect.Type]*listed[M], len(entries)),
		byName: make(map[string]*listed[M], len(entries)),
	}
	var problems []error
	for _, e := range entries {
		if err := p.add(e); err != nil {
			problems = append(problems, fmt.Errorf("message %q: %w", e.name, err))
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("wire: protocol of %v: %w", reflect.TypeFor[M](), errors.Join(problems...))
	}
	schema, err := schemaOf(slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return cmp.Compare(a.name, b.name) }))
	if err != nil {
		return nil, fmt.Errorf("wire: protocol of %v: %w", reflect.TypeFor[M](), err)
	}
	p.schema = schema
	return p, nil
}

func (p *Protocol[M]) add(e Entry) error {
	if e.err != nil {
		return e.err
	}
	if err := checkName(e.name); err != nil {
		return err
	}
	if _, taken := p.byName[e.name]; taken {
		return errors.New("the name is listed twice")
	}
	if other, taken := p.byType[e.typ]; taken {
		return fmt.Errorf("%v is listed already, as %q", e.typ, other.name)
	}
	if _, ok := e.zero.(M); !ok {
		return fmt.Errorf("%v is not a %v", e.typ, reflect.TypeFor[M]())
	}
	if e.answers != nil && e.answers != reflect.TypeFor[M]() {
		return fmt.Errorf("WithReply of %v gives a %v, not a %v", e.typ, e.answers, reflect.TypeFor[M]())
	}
	message, reply := e.form.types()
	n := &listed[M]{form: formFor[M](e.form), named: named{
		Entry:      e,
		header:     append(binary.AppendUvarint(nil, uint64(len(e.name))), e.name...),
		message:    planOf(e.codec, message),
		reply:      planOf(e.codec, reply),
		fieldsSeen: &p.unknownFields,
	}}
	p.byName[e.name], p.byType[e.typ] = n, n
	if e.typ == reflect.TypeFor[M]() {
		p.only = n
	}
	return nil
}

// MustProtocol is [NewProtocol] for package variables; it panics on an error.
func MustProtocol[M any](entries ...Entry) *Protocol[M] {
	p, err := NewProtocol[M](entries...)
	if err != nil {
		panic(err)
	}
	return p
}

// maxName bounds a wire name, in bytes.
const maxName = 128

func checkName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("a name has 1 to %d bytes, not %d", maxName, len(name))
	}
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_', r == '/':
		default:
			return fmt.Errorf("a name is made of letters, digits and .-_/ and not of %q", r)
		}
	}
	return nil
}

// Check tells whether m may travel, without encoding it: nil, or a
// [*NotNamedError].
func (p *Protocol[M]) Check(m M) error {
	_, err := p.entry(m)
	return err
}

func (p *Protocol[M]) entry(m M) (*listed[M], error) {
	if p.only != nil {
		return p.only, nil
	}
	t := reflect.TypeOf(m)
	if n, ok := p.byType[t]; ok {
		return n, nil
	}
	return nil, &NotNamedError{Type: fmt.Sprint(t), Of: reflect.TypeFor[M]().String()}
}

// Append appends the name and the payload of m to dst. pending is the reply
// that m carries, nil if nobody waits for one: the ask of this process, or the
// one elsewhere that a forwarded request came from. On an error out is dst
// as it was: a [*NotNamedError], or one that wraps [ErrUnencodable].
func (p *Protocol[M]) Append(dst []byte, m M) (out []byte, pending Pending, err error) {
	n, err := p.entry(m)
	if err != nil {
		return dst, nil, err
	}
	out, err = n.form.append(&n.named, dst, m)
	if err != nil {
		return dst, nil, err
	}
	return out, n.form.pending(&n.named, m), nil
}

// appendBy has the codec encode what it is to see of a message.
func (n *named) appendBy(dst []byte, visible any) ([]byte, error) {
	out, err := appendValue(n.codec, append(dst, n.header...), visible)
	if err != nil {
		n.unencoded.Add(1)
		return dst, fmt.Errorf("%w: %s by %s: %w", ErrUnencodable, n.name, n.codec.Name(), err)
	}
	return out, nil
}

// Decode is the inverse of [Protocol.Append]. The result owns its memory: data
// may be used again. If the message is a request and r is not nil, the answer
// goes to r.
//
// An error wraps [ErrUnknownName], [ErrUndecodable] or [ErrNotAsked] and
// concerns this message alone. The caller fails r with it, so that an asker
// learns of it at once.
func (p *Protocol[M]) Decode(data []byte, r Replier) (M, error) {
	var none M
	n, payload, err := p.listedIn(data)
	if err != nil {
		return none, err
	}
	m, err := n.form.decode(&n.named, payload, r)
	if err != nil {
		n.undecoded.Add(1)
		return none, err
	}
	return m, nil
}

// listedIn gives the entry that data begins with the name of, and what is behind it.
func (p *Protocol[M]) listedIn(data []byte) (n *listed[M], payload []byte, err error) {
	if only := p.only; only != nil && bytes.HasPrefix(data, only.header) {
		return only, data[len(only.header):], nil // a comparison in place of a search
	}
	name, payload, err := cutName(data)
	if err != nil {
		return nil, nil, err
	}
	n, ok := p.byName[string(name)]
	if !ok {
		p.unknownNames.Add(1)
		return nil, nil, fmt.Errorf("%w: %q is not in the protocol of %v of this version", ErrUnknownName, name, reflect.TypeFor[M]())
	}
	return n, payload, nil
}

func cutName(data []byte) (name, payload []byte, err error) {
	size, n := binary.Uvarint(data)
	if n <= 0 || size == 0 || size > maxName || size > uint64(len(data)-n) {
		return nil, nil, fmt.Errorf("%w: the name is cut off or longer than %d bytes", ErrUndecodable, maxName)
	}
	end := n + int(size)
	return data[n:end], data[end:], nil
}

// decodeInto decodes a payload (a message's or a reply's) into a pointer.
func (n *named) decodeInto(payload []byte, into any) error {
	err := decodeValue(n.codec, payload, into)
	if errors.Is(err, ErrUnknownFields) {
		n.fieldsSeen.Add(1)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %s by %s: %w", ErrUndecodable, n.name, n.codec.Name(), err)
	}
	return nil
}

// Roundtrip encodes and decodes m and keeps its reply: a test that switches it
// on for local messages too fails on one that could not travel. The buffer is
// overwritten before it returns, so that a codec which keeps a part of its
// input shows. A message without a name gives a [*NotNamedError].
func (p *Protocol[M]) Roundtrip(m M) (M, error) {
	var none M
	n, err := p.entry(m)
	if err != nil {
		return none, err
	}
	data, err := n.form.append(&n.named, nil, m)
	if err != nil {
		return none, err
	}
	back, err := p.Decode(data, nil)
	for i := range data {
		data[i] = 0xDB
	}
	if err != nil {
		return none, err
	}
	return n.form.keepReply(m, back), nil
}

// Schema describes all names, codecs, fields and types of the protocol, sorted,
// as text for a golden file: package wiretest compares it. A line that changes
// or goes is a change which peers of the recorded version do not understand.
func (p *Protocol[M]) Schema() string { return p.schema }

// Counts says what a protocol could not take as it came, since the start.
type Counts struct {
	UnknownNames  uint64            // messages refused for their name
	UnknownFields uint64            // messages and replies taken without some of their fields
	Unencodable   map[string]uint64 // messages that failed to encode, by wire name; names without one are left out
	Undecodable   map[string]uint64 // messages that failed to decode, by wire name; names without one are left out
}

// Counts reads the counters; they are not read at one instant.
func (p *Protocol[M]) Counts() Counts {
	c := Counts{
		UnknownNames:  p.unknownNames.Load(),
		UnknownFields: p.unknownFields.Load(),
		Unencodable:   map[string]uint64{},
		Undecodable:   map[string]uint64{},
	}
	for name, n := range p.byName {
		if v := n.unencoded.Load(); v > 0 {
			c.Unencodable[name] = v
		}
		if v := n.undecoded.Load(); v > 0 {
			c.Undecodable[name] = v
		}
	}
	return c
}
