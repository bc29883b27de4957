// Package wire names the messages that travel. SKELETON.
package wire

import (
	"time"

	"github.com/troupe-go/troupe/actor"
)

// ErrNotNamed: the message's type has no wire name in the protocol, so it cannot leave the node.
const ErrNotNamed = actor.Error("wire: message has no wire name")

// ErrUnknownName: a name from a newer version; skip and count.
const ErrUnknownName = actor.Error("wire: unknown message name")

// Codec turns a value into bytes and back.
type Codec interface {
	Name() string
	Append(dst []byte, v any) ([]byte, error)
	Decode(data []byte, into any) error // into is a pointer
}

// CBOR() and JSON() give the codecs that come with the package (functions or vars: helper decides; vars `CBOR`, `JSON` preferred).
var (
	CBOR Codec
	JSON Codec
)

// Entry is one named message.
type Entry struct{}

// Message names a message that is told. The codec is CBOR unless an option says otherwise.
func Message[T any](name string, zero T, opts ...EntryOption) Entry { panic("skeleton") }

// Request names a message that is asked; its reply travels with the same codec.
func Request[M, R any, Q actor.Request[M, R]](name string, zero Q, opts ...EntryOption) Entry {
	panic("skeleton")
}

type EntryOption interface{ entryOption() }

func With(c Codec) EntryOption { panic("skeleton") }

// Protocol is the set of messages of one kind of actor that may travel.
type Protocol[M any] struct{}

// NewProtocol checks that names are unique and valid and each type is an M.
func NewProtocol[M any](entries ...Entry) (*Protocol[M], error) { panic("skeleton") }

// MustProtocol is NewProtocol for package variables.
func MustProtocol[M any](entries ...Entry) *Protocol[M] { panic("skeleton") }

// Append appends name and payload of m to dst. pending is the reply that m carries (nil for none): the local
// ask that waits, or where a forwarded request is to be answered. errors.Is(err, ErrNotNamed) if m may not travel.
func (p *Protocol[M]) Append(dst []byte, m M) (out []byte, pending Pending, err error) {
	panic("skeleton")
}

// Check tells whether m has a name, without encoding it (Tell refuses by it before any buffer).
func (p *Protocol[M]) Check(m M) error { panic("skeleton") }

// Pending is the reply that an encoded request waits for. The sender keeps it under a correlation id.
type Pending interface {
	Resolve(payload []byte) // the encoded R, decoded with the request's codec before it returns
	Reject(err error)
	OnEnd(f func()) // see actor.Promise
	Deadline() (time.Time, bool)
}

// Decode is the inverse of Append. The result owns its memory (data may be reused). r is attached if it is a request.
func (p *Protocol[M]) Decode(data []byte, r Replier) (M, error) { panic("skeleton") }

// Replier sends the encoded answer of one remote request back; the zero-cost side of actor.Responder.
type Replier interface {
	Reply(payload []byte) error // encoded R
	Fail(err error) error
}

// Roundtrip encodes and decodes m, keeping its reply: the test switch.
func (p *Protocol[M]) Roundtrip(m M) (M, error) { panic("skeleton") }

// Schema describes all names, fields and types, sorted, for a golden file.
func (p *Protocol[M]) Schema() string { panic("skeleton") }

// AppendError / DecodeError carry an error to another node so that errors.Is with actor.Error constants holds there.
func AppendError(dst []byte, err error) []byte { panic("skeleton") }
func DecodeError(data []byte) error            { panic("skeleton") }
