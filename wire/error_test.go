package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/wire"
)

const (
	errPoor   = actor.Error("account: insufficient funds")
	errClosed = actor.Error("account: closed")
)

func TestErrorTravels(t *testing.T) {
	constants := []error{errPoor, errClosed, context.DeadlineExceeded, context.Canceled, wire.ErrNotNamed}
	tests := []struct {
		name string
		err  error
		is   []error
	}{
		{"constant", errPoor, []error{errPoor}},
		{"deadline", context.DeadlineExceeded, []error{context.DeadlineExceeded}},
		{"wrapped", fmt.Errorf("withdraw 10: %w", errPoor), []error{errPoor}},
		{"wrapped cancel", fmt.Errorf("ask: %w", context.Canceled), []error{context.Canceled}},
		{"two at once", fmt.Errorf("%w and %w", errPoor, context.DeadlineExceeded), []error{errPoor, context.DeadlineExceeded}},
		{"joined deep", fmt.Errorf("a: %w", errors.Join(errors.New("b"), fmt.Errorf("c: %w", errClosed), errPoor)), []error{errPoor, errClosed}},
		{"typed", &wire.NotNamedError{Type: "T", Of: "M"}, []error{wire.ErrNotNamed}},
		{"no constant", errors.New("plain"), nil},
		{"empty text", errors.New(""), nil},
	}
	for _, tt := range tests {
		got := wire.DecodeError(wire.AppendError(nil, tt.err))
		if got == nil || got.Error() != tt.err.Error() {
			t.Errorf("%s: got %q; want the text %q", tt.name, got, tt.err)
			continue
		}
		for _, c := range constants {
			if is, want := errors.Is(got, c), errors.Is(tt.err, c); is != want {
				t.Errorf("%s: errors.Is(%q, %q) = %t; want %t", tt.name, got, c, is, want)
			}
		}
	}
}

func TestConstantArrivesAsItself(t *testing.T) {
	for _, err := range []error{errPoor, context.DeadlineExceeded, context.Canceled} {
		if got := wire.DecodeError(wire.AppendError(nil, err)); got != err { //nolint:errorlint // identity is the point
			t.Errorf("got %#v; want %#v itself", got, err)
		}
	}
}

func TestErrorIsBounded(t *testing.T) {
	long := errors.New(strings.Repeat("ü", 5000))
	got := wire.DecodeError(wire.AppendError(nil, long)).Error()
	if len(got) > 4096 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
		t.Errorf("a text of %d bytes arrived with %d, valid %t; want at most 4096, cut at a rune", len(long.Error()), len(got), utf8.ValidString(got))
	}
	var many []error
	for i := range 1000 {
		many = append(many, actor.Error(fmt.Sprint("e", i)))
	}
	back := wire.DecodeError(wire.AppendError(nil, errors.Join(many...)))
	if !errors.Is(back, many[0]) || errors.Is(back, many[999]) {
		t.Errorf("of 1000 causes the first travels: %t, the last: %t; want true, false",
			errors.Is(back, many[0]), errors.Is(back, many[999]))
	}
}

func TestErrorOfANewerVersion(t *testing.T) {
	data := wire.AppendError(nil, errPoor)
	data = append(data, 99, 3, 'n', 'e', 'w') // a cause of a kind unknown here
	if got := wire.DecodeError(data); !errors.Is(got, errPoor) {
		t.Errorf("got %v; want the unknown cause skipped and %q found", got, errPoor)
	}
}

func TestNilAndBadErrorsAreErrors(t *testing.T) {
	if got := wire.DecodeError(wire.AppendError(nil, nil)); got == nil {
		t.Error("a nil error arrived as nil; want an error")
	}
	data := wire.AppendError(nil, fmt.Errorf("x: %w", errPoor))
	for i := range data {
		if i == 1+len("x: ")+len(errPoor) {
			continue // the text alone is a whole error
		}
		if got := wire.DecodeError(data[:i]); got == nil || errors.Is(got, errPoor) {
			t.Errorf("the first %d of %d bytes gave %v; want an error without the cause", i, len(data), got)
		}
	}
}

func FuzzDecodeError(f *testing.F) {
	f.Add(wire.AppendError(nil, errPoor))
	f.Add(wire.AppendError(nil, fmt.Errorf("%w, %w", errClosed, context.DeadlineExceeded)))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, data []byte) {
		err := wire.DecodeError(data)
		if err == nil {
			t.Fatalf("DecodeError(%x) = nil", data)
		}
		once := wire.AppendError(nil, err)
		if again := wire.AppendError(nil, wire.DecodeError(once)); !bytes.Equal(once, again) {
			t.Fatalf("DecodeError(%x) = %q is encoded as %x, then as %x", data, err, once, again)
		}
	})
}
