package actor

import (
	"fmt"
	"strconv"
	"strings"
)

// Host is a place where actors can be spawned: a System, a node, or the Ctx of an actor that becomes their parent.
type Host interface{ Home() Home }

// Home is where spawned actors hang; it is opaque.
type Home struct{ parent *core }

// System gives the system that owns the actors at this home; nil for the zero Home.
func (h Home) System() *System {
	if h.parent == nil {
		return nil
	}
	return h.parent.sys
}

// Spawn starts an actor named name below h and gives its ref. Start runs on the caller's goroutine before Spawn
// returns, and its error is returned: a first start is not repeated, whatever supervision says about later failures.
// With an empty name one is made up. Messages may be told, through c.Self(), before Start has returned; they are handled after it. The errors are ErrNameTaken, ErrBadName,
// ErrBadOption, ErrStopped when h is ending, and what Start returned.
func Spawn[M any](h Host, name string, start Start[M], opts ...Option) (Ref[M], error) {
	if strings.Contains(name, "/") || strings.HasPrefix(name, madeUp) {
		return Ref[M]{}, fmt.Errorf("spawn %q: %w", name, ErrBadName)
	}
	c, err := newCell(h.Home(), name, start, opts)
	if err == nil {
		if name == "" {
			c.name = string(strconv.AppendUint([]byte(madeUp), c.sys.anonymous.Add(1), 10))
		}
		err = c.adopt(name != "")
	}
	if err == nil {
		c.child = c.parent.parent != nil
		err = c.launch()
	}
	if err != nil {
		return Ref[M]{}, fmt.Errorf("spawn: %w", err)
	}
	return c.ref(), nil
}

// Option varies one spawn.
type Option interface{ apply(*options) }

// options are what an Option varies.
type options struct {
	mailbox int
	stash   int
	restart policy
	hold    *Hold
	bad     error
}

type optionFunc func(*options)

func (f optionFunc) apply(o *options) { f(o) }

// defaultStash is the bound of a stash that has no option.
const defaultStash = 10_000

// Mailbox bounds the messages that wait for the actor, at least 1; Tell refuses more with ErrFull. The one in hand, and up to
// 63 others that the actor took out together with it, do not count, nor do the actor's own messages. The default is Config.Mailbox.
func Mailbox(n int) Option {
	return optionFunc(func(o *options) {
		o.mailbox = n
		o.require(n >= 1, "Mailbox(%d): at least 1", n)
	})
}

// StashLimit bounds the stashed messages; default 10,000. Zero forbids stashing.
func StashLimit(n int) Option {
	return optionFunc(func(o *options) {
		o.stash = n
		o.require(n >= 0, "StashLimit(%d): not negative", n)
	})
}

func (o *options) require(ok bool, format string, args ...any) {
	if !ok && o.bad == nil {
		o.bad = fmt.Errorf("%w: %s", ErrBadOption, fmt.Sprintf(format, args...))
	}
}
