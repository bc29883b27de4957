// Package entity decides about the life of entities in their shards: which steps
// it has ([State]), which ids are remembered and what is stored of that ([Book]),
// at what pace remembered ones are started ([Starter]), and how long one that failed
// rests ([Rests]).
//
// All are pure machines of one user: they read no clock, draw no random number,
// store nothing themselves and start nothing. What they put out is in an order that
// their inputs alone decide.
package entity

// A State is where an entity is in its life.
type State uint8

// The states. An entity that is nowhere else is None.
const (
	None                 State = iota
	RememberedNotCreated       // known from the store, and not started yet
	RememberingStart           // that it starts is being stored; its messages wait
	Active                     // it has an incarnation
	Passivating                // its incarnation has been told to end, or has ended as it wished
	RememberingStop            // that it is forgotten is being stored
	WaitingForRestart          // it failed, and rests
	Expected                   // it always lives, and has not been started here yet
)

// String gives the state's name as the protocol writes it.
func (s State) String() string {
	names := [...]string{
		"none", "remembered_not_created", "remembering_start", "active",
		"passivating", "remembering_stop", "waiting_for_restart", "expected",
	}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// MayBecome tells whether an entity may go from s to next. A type that remembers
// its entities has none that comes to life, or goes, without the store's knowledge.
func (s State) MayBecome(next State, remember bool) bool {
	switch s {
	case None:
		return remember && (next == RememberedNotCreated || next == RememberingStart) || !remember && (next == Active || next == Expected)
	case RememberedNotCreated:
		return next == Active || next == RememberingStop
	case Expected:
		return next == Active
	case RememberingStart:
		return next == RememberingStart || next == Active
	case Active:
		return next == Passivating || next == WaitingForRestart || !remember && next == None
	case Passivating:
		return next == RememberingStop || !remember && next == None
	case RememberingStop:
		return next == None
	case WaitingForRestart:
		return next == RememberingStart || next == Active
	default:
		return false
	}
}
