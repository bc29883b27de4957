package wire

import (
	"fmt"
	"runtime/debug"

	"github.com/troupe-go/troupe/actor"
)

// A Codec turns values into bytes and back. A user's own needs no more than
// these methods; wiretest.Codec checks one. All must be safe for concurrent
// use. A panic of a codec becomes a [*PanicError] of the message in hand.
//
// [CBOR] and [JSON] never see the Reply of a request. A user's own codec gets
// the request as it is: it leaves the Reply out.
type Codec interface {
	// Name tells the codec from others, in errors and in the schema.
	Name() string
	// Append appends the encoding of v to dst.
	Append(dst []byte, v any) ([]byte, error)
	// Decode fills into, a pointer to a zero value, from the whole of data, and
	// keeps no part of data. If data has fields that into has not, it fills the
	// others and returns an error that wraps [ErrUnknownFields].
	Decode(data []byte, into any) error
}

// ErrUnknownFields is what [Codec.Decode] returns when it has filled what it
// knows of a message from a newer version.
const ErrUnknownFields = actor.Error("wire: unknown fields skipped")

// A PanicError is a panic of a codec, or of a method that a codec called.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // of the goroutine, as debug.Stack gives it
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// appendValue is c.Append; on an error or a panic it gives dst back.
func appendValue(c Codec, dst []byte, v any) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{r, debug.Stack()}
		}
		if err != nil {
			out = dst
		}
	}()
	out, err = c.Append(dst, v)
	if err == nil && len(out) < len(dst) {
		return dst, fmt.Errorf("codec %s cut the buffer that it was to append to", c.Name())
	}
	return out, err
}

// decodeValue is c.Decode, a panic being an error.
func decodeValue(c Codec, data []byte, into any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{r, debug.Stack()}
		}
	}()
	return c.Decode(data, into)
}
