package actor

import "sync/atomic"

// A Hold is what keeps actors from acting for a time, as their node may have been given up by the others, or what it owns
// have got another owner. No actor is started then, handles a message, or hears a timer; what was begun, up to
// a batch of messages, goes on, and who is told to stop does. Messages are accepted as ever.
//
// Whether it is time is asked before each batch and not only when a message is accepted: after a pause of the whole process, workers
// wake with cells in their hands.
type Hold struct {
	shut func() bool
	gate func() bool
	on   atomic.Bool // cells are set aside, and somebody waits at the gate to have them run again
}

// NewHold makes a hold of two functions that mean what [Config] says of Shut and Gate. While the gate returns false it lets nobody
// through, and only the end of those it holds helps them: one that is made later asks shut anew.
func NewHold(shut, gate func() bool) *Hold { return &Hold{shut: shut, gate: gate} }

// Held lets a hold keep the actor from acting, and its children, beside the hold of the whole system.
func Held(by *Hold) Option {
	return optionFunc(func(o *options) {
		o.hold = by
		o.require(by != nil, "Held(nil): needs a hold")
	})
}

// holds tells whether nobody may act now who is held by h.
func (h *Hold) holds(s *System) bool {
	if h == nil || h.shut == nil || !h.on.Load() && !h.shut() {
		return false
	}
	if h.on.CompareAndSwap(false, true) {
		go h.outlast(s)
	}
	return true
}

// outlast has all that were set aside run again when the gate opens. If it never does they can only stop; behind a hold that is
// not the system's there may be new ones by then, who are not to be held.
func (h *Hold) outlast(s *System) {
	opened := h.pass()
	if !opened && h == &s.hold {
		return
	}
	h.on.Store(false)
	if opened || !h.shut() {
		s.root.resume()
	}
}

// pass waits at the gate, if there is one; false lets nothing through.
func (h *Hold) pass() bool { return h.gate == nil || h.gate() }

// heldBy gives what keeps c from acting now; nil if nothing does.
func (c *core) heldBy() *Hold {
	if h := &c.sys.hold; h.holds(c.sys) {
		return h
	}
	for ; c.parent != nil; c = c.parent {
		if h := c.impl.hold(); h.holds(c.sys) {
			return h
		}
	}
	return nil
}

// pass waits at all gates that are c's; false lets it do nothing more.
func (c *core) pass() bool {
	if !c.sys.hold.pass() {
		return false
	}
	for ; c.parent != nil; c = c.parent {
		if h := c.impl.hold(); h != nil && !h.pass() {
			return false
		}
	}
	return true
}

// resume runs all below c for which something is due.
func (c *core) resume() {
	for _, child := range c.children() {
		child.impl.poke()
		child.resume()
	}
}

// setAside is asked by a worker with the cell in its hands: true means that it must not run now. Whoever gives it more to
// do queues it again, to no avail; who stops it does so with success.
func (c *core) setAside() bool {
	h := c.heldBy()
	if h == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.phase.acts() || c.stopReason() != Running || !h.on.Load() {
		return false
	}
	c.queued = false
	return true
}

// acts tells whether a cell in this phase will run the user's code, other than to clean up.
func (p phase) acts() bool { return p == starting || p == running || p == backingOff }
