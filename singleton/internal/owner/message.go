package owner

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/member"
)

// A Message is what the parts of different nodes say to each other.
type Message interface{ kind() byte }

// The messages.
type (
	// Hello says that the sender has the singleton, and asks who owns it.
	Hello struct{ Agree string }
	// Here says who owns it: Term.Node.
	Here struct{ Term Term }
	// Claim asks for the grant to start, each time anew until it is answered. Last says
	// that nothing else is missing: whoever has the instance need not end it before.
	Claim struct {
		Term  Term
		Last  bool
		Agree string
	}
	// Granted says that the sender has no instance and makes no claim. Top is the
	// highest number it knows.
	Granted struct {
		Claim Term
		Top   uint64
	}
	// Close asks to send nothing more in a tenure, and for a mark behind the rest.
	Close struct{ Term Term }
)

const (
	kindHello byte = iota + 1
	kindHere
	kindClaim
	kindGranted
	kindClose
)

func (Hello) kind() byte   { return kindHello }
func (Here) kind() byte    { return kindHere }
func (Claim) kind() byte   { return kindClaim }
func (Granted) kind() byte { return kindGranted }
func (Close) kind() byte   { return kindClose }

// ErrMessage: what arrived is not what this version says.
var ErrMessage = errors.New("singleton: control message not understood")

// maxText bounds the texts in messages, in bytes.
const maxText = 255

// Append encodes m behind dst.
func Append(dst []byte, m Message) []byte {
	dst = append(dst, m.kind())
	switch m := m.(type) {
	case Hello:
		dst = appendText(dst, m.Agree)
	case Here:
		dst = AppendTerm(dst, m.Term)
	case Claim:
		var last byte
		if m.Last {
			last = 1
		}
		dst = appendText(append(AppendTerm(dst, m.Term), last), m.Agree)
	case Granted:
		dst = binary.BigEndian.AppendUint64(AppendTerm(dst, m.Claim), m.Top)
	case Close:
		dst = AppendTerm(dst, m.Term)
	}
	return dst
}

// Decode is the inverse of [Append]. What a newer version may have added behind is
// left out.
func Decode(b []byte) (Message, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("empty: %w", ErrMessage)
	}
	r := reader{rest: b[1:], ok: true}
	var m Message
	switch b[0] {
	case kindHello:
		m = Hello{r.text()}
	case kindHere:
		m = Here{r.term()}
	case kindClaim:
		m = Claim{r.term(), r.take(1)[0] != 0, r.text()}
	case kindGranted:
		m = Granted{r.term(), r.number()}
	case kindClose:
		m = Close{r.term()}
	default:
		return nil, fmt.Errorf("kind %d: %w", b[0], ErrMessage)
	}
	if !r.ok {
		return nil, fmt.Errorf("kind %d is cut short after %d bytes: %w", b[0], len(b), ErrMessage)
	}
	return m, nil
}

// AppendTerm encodes t behind dst.
func AppendTerm(dst []byte, t Term) []byte {
	return AppendNode(binary.BigEndian.AppendUint64(dst, t.N), t.Node)
}

// AppendNode encodes a node behind dst.
func AppendNode(dst []byte, id member.ID) []byte {
	dst = appendText(dst, id.Host)
	dst = binary.BigEndian.AppendUint16(dst, uint16(id.Port))
	return binary.BigEndian.AppendUint64(dst, uint64(id.UID))
}

func appendText(dst []byte, s string) []byte {
	s = s[:min(len(s), maxText)]
	return append(append(dst, byte(len(s))), s...)
}

// CutTerm takes a term off the front of b; false if it is cut short.
func CutTerm(b []byte) (t Term, rest []byte, ok bool) {
	r := reader{rest: b, ok: true}
	t = r.term()
	return t, r.rest, r.ok
}

// CutNode takes a node off the front of b; false if it is cut short.
func CutNode(b []byte) (id member.ID, rest []byte, ok bool) {
	r := reader{rest: b, ok: true}
	id = r.node()
	return id, r.rest, r.ok
}

// A reader takes fields off the front of rest, zero ones once something is missing.
type reader struct {
	rest []byte
	ok   bool
}

func (r *reader) take(n int) []byte {
	if r.ok = r.ok && n <= len(r.rest); !r.ok {
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) number() uint64 { return binary.BigEndian.Uint64(r.take(8)) }
func (r *reader) text() string   { return string(r.take(int(r.take(1)[0]))) }
func (r *reader) term() Term     { return Term{N: r.number(), Node: r.node()} }

func (r *reader) node() member.ID {
	host := r.text()
	port := int(binary.BigEndian.Uint16(r.take(2)))
	return member.ID{Address: member.Address{Host: host, Port: port}, UID: int64(r.number())}
}
