package wire

import (
	"bytes"
	"encoding"
	"encoding/json"
	"io"
	"reflect"
)

// JSON is for messages that people or other programs read on the wire. It is
// encoding/json: larger and slower than [CBOR], and a string that is not valid
// UTF-8 does not survive.
var JSON Codec = jsonCodec{}

type jsonCodec struct{}

func (jsonCodec) Name() string { return "json" }

func (jsonCodec) Append(dst []byte, v any) ([]byte, error) {
	data, err := json.Marshal(v)
	return append(dst, data...), err
}

func (jsonCodec) Decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err == nil {
		if _, err := d.Token(); err == io.EOF {
			return nil
		}
	}
	// The strict decoder's error does not say what it is about. What it alone
	// refuses is unknown fields.
	reflect.ValueOf(into).Elem().SetZero()
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	return ErrUnknownFields
}

func (jsonCodec) rules() rules {
	return rules{
		tags: []string{"json"},
		own: []ownForm{
			formOf[json.Marshaler, json.Unmarshaler](),
			formOf[encoding.TextMarshaler, encoding.TextUnmarshaler](),
		},
		key: func(t reflect.Type) bool {
			switch t.Kind() {
			case reflect.String,
				reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
				reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
				return true
			default:
				return t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
			}
		},
	}
}
