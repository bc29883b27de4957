package wire

import (
	"context"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/troupe-go/troupe/actor"
)

// The form of an error on the wire: its text, then what errors.Is finds in it,
// in order: a kind, and the text of a constant. Each text is its length as a
// uvarint and its bytes. Kinds of newer versions are skipped.
const (
	causeConstant byte = iota + 1 // an actor.Error; its text
	causeDeadline                 // context.DeadlineExceeded; no text
	causeCanceled                 // context.Canceled; no text
)

// The bounds of an encoded error.
const (
	maxErrorText = 4096 // bytes; a longer text is cut
	maxCauses    = 16   // the outermost ones travel
)

const (
	errNil      = actor.Error("wire: a failure without an error")
	errBadError = actor.Error("wire: the peer's error cannot be decoded")
)

// AppendError appends err to dst for [DecodeError] at another node: its text
// (cut at 4 KiB), and as causes the constants of type actor.Error in its chain
// (the first 16) and the two errors of package context. Other types and values
// do not travel.
func AppendError(dst []byte, err error) []byte {
	if err == nil {
		err = errNil
	}
	dst = appendText(dst, err.Error())
	for _, c := range causes(err, nil) {
		dst = appendText(append(dst, c.kind), c.text)
	}
	return dst
}

// A cause is one error of a tree that travels as itself.
type cause struct {
	kind byte
	text string // of a constant
}

func causeOf(err error) (c cause, ok bool) {
	//nolint:errorlint // one node of the tree is looked at, not what it wraps
	switch e := err.(type) {
	case actor.Error:
		return cause{causeConstant, string(e)}, len(e) <= maxErrorText
	default:
		switch err {
		case context.DeadlineExceeded:
			return cause{kind: causeDeadline}, true
		case context.Canceled:
			return cause{kind: causeCanceled}, true
		}
		return cause{}, false
	}
}

// causes collects what can travel of err's tree, in the order of errors.Is.
func causes(err error, found []cause) []cause {
	if err == nil || len(found) == maxCauses {
		return found
	}
	if c, ok := causeOf(err); ok && !slices.Contains(found, c) {
		found = append(found, c)
	}
	//nolint:errorlint // this walks the tree that errors.Is walks
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return causes(e.Unwrap(), found)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			found = causes(inner, found)
		}
	}
	return found
}

func appendText(dst []byte, s string) []byte {
	if len(s) > maxErrorText {
		const dots = "…"
		end := maxErrorText - len(dots)
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + dots
	}
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// DecodeError makes an error of what [AppendError] wrote: with the same text,
// and errors.Is finds the causes that travelled. It never returns nil: for bad
// data it returns an error that says so.
func DecodeError(data []byte) error {
	text, data, ok := cutText(data)
	if !ok {
		return errBadError
	}
	e := &remoteError{text: text}
	for len(data) > 0 {
		kind := data[0]
		if text, data, ok = cutText(data[1:]); !ok || len(e.causes) == maxCauses {
			return errBadError
		}
		switch kind {
		case causeConstant:
			e.causes = append(e.causes, actor.Error(text))
		case causeDeadline:
			e.causes = append(e.causes, context.DeadlineExceeded)
		case causeCanceled:
			e.causes = append(e.causes, context.Canceled)
		}
	}
	if len(e.causes) == 1 && e.causes[0].Error() == e.text {
		return e.causes[0]
	}
	return e
}

func cutText(data []byte) (text string, rest []byte, ok bool) {
	size, n := binary.Uvarint(data)
	if n <= 0 || size > maxErrorText || size > uint64(len(data)-n) {
		return "", nil, false
	}
	end := n + int(size)
	return string(data[n:end]), data[end:], true
}

// remoteError is an error of another node.
type remoteError struct {
	text   string
	causes []error
}

func (e *remoteError) Error() string   { return e.text }
func (e *remoteError) Unwrap() []error { return e.causes }
