package actor

import (
	"errors"
	"fmt"
)

// Error is an error that is a constant, so that errors.Is holds on every node it travels to.
type Error string

func (e Error) Error() string { return string(e) }

// What this package answers with. Errors that it returns wrap one of these, together with the actor it is about.
const (
	// ErrStopped means that the actor has ended or takes no more messages: certainly not accepted.
	ErrStopped = Error("actor: stopped")
	// ErrFull means that the mailbox is at its bound (see [Mailbox]): certainly not accepted.
	ErrFull = Error("actor: mailbox full")
	// ErrUnhandled is what a behavior returns for a message it does not know: a dead letter, but no failure.
	ErrUnhandled = Error("actor: message not handled")
	// ErrStashFull means that the stash is at its bound (see [StashLimit]); the message is still in hand.
	ErrStashFull = Error("actor: stash full")
	// ErrNoMessage means that there is no message in hand to stash: in Start and in cleanup functions.
	ErrNoMessage = Error("actor: no message in hand")
	// ErrNoReply ends an ask whose request was dropped: nobody will answer it any more.
	ErrNoReply = Error("actor: stopped without a reply")
	// ErrNameTaken means that a live sibling has the name.
	ErrNameTaken = Error("actor: name taken")
	// ErrBadName means that a name contains a slash, which separates the names in a path, or begins with a dollar sign, as
	// names do that are made up.
	ErrBadName = Error("actor: name contains a slash, or begins with $")
	// ErrBadOption means that an option is out of its range.
	ErrBadOption = Error("actor: option out of range")
	// ErrBadDuration means that a timer was given a negative duration, or a ticker none at all.
	ErrBadDuration = Error("actor: negative duration")
	// ErrNotWatchable means that the ref is not that of an actor in this process.
	ErrNotWatchable = Error("actor: only local actors can be watched")
	// ErrNoBehavior means that Start returned neither a behavior nor an error.
	ErrNoBehavior = Error("actor: start returned no behavior")
)

// refusal says which actor did not take a message. It is formatted only when somebody reads it, because an
// overloaded actor refuses often.
type refusal struct {
	to    *core
	limit int // of the mailbox that is full
	err   Error
	cause error // why nobody waits for room any more; nil if nobody did
}

func (r *refusal) Error() string {
	switch {
	case r.cause != nil:
		return fmt.Sprintf("%v: %s holds %d messages (option actor.Mailbox): %v", r.err, r.to.path(), r.limit, r.cause)
	case r.err == ErrFull:
		return fmt.Sprintf("%v: %s holds %d messages (option actor.Mailbox)", r.err, r.to.path(), r.limit)
	case r.to.parent == nil:
		return fmt.Sprintf("%v: the system", r.err)
	default:
		return fmt.Sprintf("%v: %s", r.err, r.to.path())
	}
}

func (r *refusal) Unwrap() []error {
	if r.cause == nil {
		return []error{r.err}
	}
	return []error{r.err, r.cause}
}

// AskError tells why an ask ended without an answer. An answer that is an error (see [Reply.Fail]) comes as it is.
type AskError struct {
	To      string // the recipient
	Request string // the Go type of the request
	Fate    Fate   // what is known of it
	Err     error  // ErrNoReply, the context's error, the refusal, or why it was given up on its way
}

// SafeToRetry tells whether asking again cannot do it twice.
func (e *AskError) SafeToRetry() bool { return e.Fate == NotHandled }

func (e *AskError) Error() string {
	return fmt.Sprintf("ask %s %s (%s): %v", e.To, e.Request, e.Fate, e.Err)
}

// Unwrap gives the cause.
func (e *AskError) Unwrap() error { return e.Err }

// unsent is why an answer could not be put on its way. The actor has done its part, so it does not fail for returning it.
type unsent struct{ err error }

func (u *unsent) Error() string { return fmt.Sprintf("reply not sent: %v", u.err) }

func (u *unsent) Unwrap() error { return u.err }

// panicked is a panic, or a runtime.Goexit, in a user's function. The stack is for the log and goes nowhere else.
type panicked struct {
	value any // nil for Goexit
	stack []byte
}

func (p *panicked) Error() string {
	if p.value == nil {
		return "the goroutine was ended by runtime.Goexit"
	}
	return fmt.Sprintf("panic: %v", p.value)
}

func (p *panicked) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// attributes are what the log says about a failure.
func attributes(err error) []any {
	attrs := []any{"error", err}
	var p *panicked
	if errors.As(err, &p) {
		attrs = append(attrs, "stack", string(p.stack))
	}
	return attrs
}
