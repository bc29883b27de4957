package wiretest

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/troupe-go/troupe/wire"
)

// Codec checks that c keeps the promises of [wire.Codec] for the samples, which
// are values as they would be sent: it appends behind what is there, decodes
// what it encoded to an equal value (reflect.DeepEqual), gives equal bytes for
// equal values, keeps no part of its input, and takes damaged input without a
// panic.
func Codec(t *testing.T, c wire.Codec, samples ...any) {
	t.Helper()
	if c.Name() == "" || len(samples) == 0 {
		t.Fatalf("codec %q with %d samples: a codec has a name, and a check has samples", c.Name(), len(samples))
	}
	for _, v := range samples {
		t.Run(fmt.Sprintf("%T", v), func(t *testing.T) { checkSample(t, c, v) })
	}
}

func checkSample(t *testing.T, c wire.Codec, v any) {
	prefix := []byte("prefix")
	out, err := c.Append(bytes.Clone(prefix), v)
	if err != nil {
		t.Fatalf("Append(%#v) = %v", v, err)
	}
	data, ok := bytes.CutPrefix(out, prefix)
	if !ok {
		t.Fatalf("Append(%q, %#v) = %q: what was there is gone", prefix, v, out)
	}
	if again, err := c.Append(nil, v); err != nil || !bytes.Equal(again, data) {
		t.Errorf("Append(%#v) = %x, then %x, %v", v, data, again, err)
	}
	input := bytes.Clone(data)
	into := reflect.New(reflect.TypeOf(v))
	if err := c.Decode(input, into.Interface()); err != nil {
		t.Fatalf("Decode(%x) of %#v = %v", data, v, err)
	}
	for i := range input {
		input[i] ^= 0xff
	}
	if got := into.Elem().Interface(); !reflect.DeepEqual(got, v) {
		t.Errorf("Decode(Append(%#v)) = %#v after the input was overwritten", v, got)
	}
	checkDamage(t, c, data, reflect.TypeOf(v))
}

// checkDamage decodes each truncation of data and each byte of it changed.
func checkDamage(t *testing.T, c wire.Codec, data []byte, typ reflect.Type) {
	try := func(bad []byte) {
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("Decode(%x) panics: %v", bad, r)
			}
		}()
		_ = c.Decode(bad, reflect.New(typ).Interface()) // an error or another value: both will do
	}
	for i := range data {
		try(data[:i:i])
		damaged := bytes.Clone(data)
		damaged[i] ^= 0xff
		try(damaged)
	}
}
