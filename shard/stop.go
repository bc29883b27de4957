package shard

import (
	"reflect"
	"slices"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// stops tells whether the entities of the type are told that they have to end.
func (t Type[M]) stops() bool {
	return any(t.Stop) != nil && reflect.TypeFor[M]().Kind() == reflect.Interface
}

// withoutStop takes the stop message out of what an incarnation has not handled: it
// was for this one. No other message is of its type, which is not in the protocol.
func (t Type[M]) withoutStop(left []actor.Leftover[M]) []actor.Leftover[M] {
	if !t.stops() {
		return left
	}
	last := reflect.TypeOf(t.Stop)
	return slices.DeleteFunc(left, func(l actor.Leftover[M]) bool { return reflect.TypeOf(l.Message) == last })
}

// drain has an entity end when it has worked off what it has.
func (r *shell[M]) drain(c *actor.Cell[M]) {
	if r.typ.stops() {
		c.DrainWith(r.typ.Stop)
	} else {
		c.Drain()
	}
}

// retire has an entity end if it is idle, and tells whether it is. One that is told
// so may take its time, but not for ever.
func (r *shell[M]) retire(c *actor.Cell[M]) bool {
	if !r.typ.stops() {
		return c.Passivate()
	}
	idle := c.PassivateWith(r.typ.Stop)
	if idle {
		time.AfterFunc(r.typ.HandOffTimeout, c.Stop) // one that has ended does not mind
	}
	return idle
}
