package sim

import (
	"fmt"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"github.com/troupe-go/troupe/internal/gossip"
)

// A Codec turns messages into bytes and back: what travels in a world does
// so as bytes, so that the form on the wire takes part.
type Codec interface {
	Encode(m gossip.Message) ([]byte, error)
	Decode(data []byte) (gossip.Message, error)
}

// CBOR is the codec of the wire: the fields in CBOR, then a byte for the kind of
// message.
func CBOR() (Codec, error) {
	enc, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, err
	}
	dec, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode()
	if err != nil {
		return nil, err
	}
	c := &cborCodec{enc: enc, dec: dec, kinds: map[reflect.Type]byte{}}
	for i, m := range gossip.Messages() {
		t := reflect.TypeOf(m)
		c.kinds[t] = byte(i)
		c.types = append(c.types, t)
	}
	return c, nil
}

type cborCodec struct {
	enc   cbor.EncMode
	dec   cbor.DecMode
	kinds map[reflect.Type]byte
	types []reflect.Type
}

// Encode writes a message of one of the kinds of gossip.Messages.
func (c *cborCodec) Encode(m gossip.Message) ([]byte, error) {
	kind, ok := c.kinds[reflect.TypeOf(m)]
	if !ok {
		return nil, fmt.Errorf("message %T is not among those of gossip.Messages", m)
	}
	fields, err := c.enc.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", m, err)
	}
	return append(fields, kind), nil
}

// Decode reads what Encode wrote.
func (c *cborCodec) Decode(data []byte) (gossip.Message, error) {
	if len(data) == 0 || int(data[len(data)-1]) >= len(c.types) {
		return nil, fmt.Errorf("message of unknown kind, %d bytes", len(data))
	}
	t := c.types[data[len(data)-1]]
	v := reflect.New(t)
	if err := c.dec.Unmarshal(data[:len(data)-1], v.Interface()); err != nil {
		return nil, fmt.Errorf("decode %s: %w", t, err)
	}
	return v.Elem().Interface().(gossip.Message), nil
}
