package wire

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// CBOR is the codec that is used unless an entry says otherwise: RFC 8949 in
// its deterministic form, fields by their cbor tag, else their json tag, else
// their name. Times travel with nanoseconds and their offset; strings travel
// byte for byte.
//
// A decoder trusts no length: it refuses more than 65,536 elements of one list
// or map, deeper nesting than 16, indefinite lengths and duplicate keys. The
// sender of too large a list gets the error. Large binary data belongs into
// []byte, which has no limit here.
var CBOR Codec = newCBOR()

// The limits of what is decoded.
const (
	cborDepth    = 16
	cborElements = 65_536
)

type cborCodec struct {
	enc     cbor.UserBufferEncMode
	strict  cbor.DecMode // an unknown field is an error
	lenient cbor.DecMode // an unknown field is skipped
	buffers sync.Pool    // of *bytes.Buffer, empty: only the header is used again
}

func newCBOR() *cborCodec {
	eo := cbor.CoreDetEncOptions()
	eo.Time = cbor.TimeRFC3339Nano
	eo.TextMarshaler = cbor.TextMarshalerTextString
	enc, err := eo.UserBufferEncMode()
	if err != nil {
		panic(err) // the options above are constants
	}
	do := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		MaxNestedLevels:   cborDepth,
		MaxArrayElements:  cborElements,
		MaxMapPairs:       cborElements,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
		TextUnmarshaler:   cbor.TextUnmarshalerTextString,
		// A Go string may hold any bytes. What the sender could encode must not
		// be lost at the receiver.
		UTF8: cbor.UTF8DecodeInvalid,
	}
	lenient, err := do.DecMode()
	if err != nil {
		panic(err)
	}
	do.ExtraReturnErrors = cbor.ExtraDecErrorUnknownField
	strict, err := do.DecMode()
	if err != nil {
		panic(err)
	}
	return &cborCodec{
		enc: enc, strict: strict, lenient: lenient,
		buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
}

func (c *cborCodec) Name() string { return "cbor" }

func (c *cborCodec) Append(dst []byte, v any) ([]byte, error) {
	b := c.buffers.Get().(*bytes.Buffer)
	*b = *bytes.NewBuffer(dst)
	err := c.enc.MarshalToBuffer(v, b)
	out := b.Bytes()
	*b = bytes.Buffer{}
	c.buffers.Put(b)
	if err != nil {
		return dst, err
	}
	// The library encodes what it would not decode. A list that is too long
	// takes at least a byte an element; too deep a type was refused by the
	// protocol.
	if payload := out[len(dst):]; len(payload) > cborElements {
		if err := c.lenient.Wellformed(payload); err != nil {
			return dst, fmt.Errorf("the receiver would refuse it: %w", err)
		}
	}
	return out, nil
}

func (c *cborCodec) Decode(data []byte, into any) error {
	err := c.strict.Unmarshal(data, into)
	var unknown *cbor.UnknownFieldError
	if !errors.As(err, &unknown) {
		return err
	}
	reflect.ValueOf(into).Elem().SetZero()
	if err := c.lenient.Unmarshal(data, into); err != nil {
		return err
	}
	return ErrUnknownFields
}

func (c *cborCodec) rules() rules {
	return rules{
		tags:  []string{"cbor", "json"},
		depth: cborDepth,
		own: []ownForm{
			formOf[cbor.Marshaler, cbor.Unmarshaler](),
			formOf[encoding.BinaryMarshaler, encoding.BinaryUnmarshaler](),
			formOf[encoding.TextMarshaler, encoding.TextUnmarshaler](),
		},
		builtin:     map[reflect.Type]bool{reflect.TypeFor[time.Time](): true, reflect.TypeFor[big.Int](): true},
		pointerForm: true,
		key: func(t reflect.Type) bool {
			return t.Kind() != reflect.Float32 && t.Kind() != reflect.Float64 && t.Kind() != reflect.Pointer
		},
	}
}
