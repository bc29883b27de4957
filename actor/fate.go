package actor

import "errors"

// Fate is what is known of a request whose ask ended without an answer.
type Fate uint8

// The fates.
const (
	// Unknown: perhaps it was handled, or will be. To ask again may do it twice.
	Unknown Fate = iota
	// NotHandled: nobody has handled it, and nobody will. It is safe to ask again.
	NotHandled
	// Handled: it was, and not answered.
	Handled
)

// String says it in a word or two.
func (f Fate) String() string {
	switch f {
	case NotHandled:
		return "not handled"
	case Handled:
		return "handled, unanswered"
	default:
		return "perhaps handled"
	}
}

// The marks by which a fate travels with an error: [errors.Is] finds them on every node.
const (
	// ErrNotHandled marks the error of a request that nobody has handled, and nobody will.
	ErrNotHandled = Error("actor: the message was not handled")
	// ErrHandled marks the error of a request that was handled, and not answered.
	ErrHandled = Error("actor: the message was handled")
)

// Fated marks err with what is known of the message that it is about, for packages that give up what they route. The text stays as it
// is. An error that is marked already keeps its first mark, and Unknown is none.
func Fated(err error, f Fate) error {
	switch {
	case err == nil || f == Unknown || FateOf(err) != Unknown:
		return err
	case f == NotHandled:
		return &fated{err, ErrNotHandled}
	default:
		return &fated{err, ErrHandled}
	}
}

// FateOf reads the mark of an error, which may have come from another node.
func FateOf(err error) Fate {
	switch {
	case errors.Is(err, ErrNotHandled):
		return NotHandled
	case errors.Is(err, ErrHandled):
		return Handled
	default:
		return Unknown
	}
}

// fated is an error with a mark that its text does not show.
type fated struct {
	err  error
	mark Error
}

func (f *fated) Error() string   { return f.err.Error() }
func (f *fated) Unwrap() []error { return []error{f.err, f.mark} }
