package actor

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// phase is where a cell is in its life. Only its runner changes it, under the cell's mutex.
type phase uint8

const (
	starting   phase = iota // Start is to run
	running                 // messages go to the behavior
	looping                 // messages go to the function of a Loop, on its own goroutine
	unwinding               // waiting for children and Go functions, then cleaning up
	backingOff              // failed; waiting to start again
	ended                   // handles nothing any more
	told                    // and its watchers know
)

// core is what a cell has whatever its messages are.
//
// At any time at most one goroutine is a cell's runner: the one that set queued, until it clears it. The runner
// owns what the comments of Cell say; mu guards what others touch too. No two cells' mutexes are ever held together, and none
// is held while calling out.
type core struct {
	mu     sync.Mutex
	sys    *System
	parent *core
	impl   runner
	name   string
	queue  *core // next in the run queue; the scheduler's
	kin    *kin  // nil for most

	older, younger *core // siblings; the parent's mutex guards them

	ending atomic.Uint32 // the StopReason once a stop was asked for; written under mu

	waiting  int32      // messages in the mailbox
	aside    int32      // Go functions that have not returned
	reason   StopReason // why this incarnation ends; the runner's
	busy     bool       // in the user's code; the runner's
	phase    phase
	queued   bool // in the run queue, or running
	closed   bool // takes no more messages
	crowded  bool // somebody stands in line for room in the mailbox
	draining bool // stops when the mailbox is empty
	named    bool // registered with its parent
	child    bool // of an actor, and has never been in the run queue
}

// runner is the typed part of a cell as the scheduler and its relatives see it.
type runner interface {
	// run does what is due and tells whether more is.
	run() (again bool)
	// poke runs the cell if something is due: what it waited for may have happened.
	poke()
	// end asks it to stop, for the first reason given.
	end(StopReason)
	// hold is what keeps it from acting at times, beside that of the system; nil if nothing does.
	hold() *Hold
	// address is what its messages are sent to, if that is not the cell itself; empty if it is.
	address() string
}

// kin is who has to do with a cell: its children, and those who wait for something of it.
type kin struct {
	first    *core // the youngest child
	children int
	names    map[string]*core
	watchers list.List // of func()
	line     list.List // of *waiter: for room in the mailbox
}

func (c *core) family() *kin {
	if c.kin == nil {
		c.kin = new(kin)
	}
	return c.kin
}

// path names the cell to people: by what its messages are sent to, such as type and id of an entity, or else by its name behind those of
// its parents.
func (c *core) path() string {
	if a := c.impl.address(); a != "" {
		return a
	}
	if c.parent == nil {
		return c.name
	}
	return c.parent.path() + "/" + c.name
}

// enqueue hands the cell to the scheduler if its caller has just marked it as queued. It must not hold mu.
func (c *core) enqueue(ready bool) {
	if ready {
		c.sys.sched.ready(c)
	}
}

func (c *core) stopReason() StopReason { return StopReason(c.ending.Load()) }

// madeUp begins the names of actors that were given none. A counter makes them unique, so that nobody has to remember them.
const madeUp = "$"

// adopt makes c a child of its parent. A named child needs a name of its own among its live siblings.
func (c *core) adopt(named bool) error {
	p := c.parent
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase >= unwinding {
		return &refusal{to: p, err: ErrStopped}
	}
	k := p.family()
	if named {
		if k.names[c.name] != nil {
			return &refusal{to: c, err: ErrNameTaken}
		}
		if k.names == nil {
			k.names = make(map[string]*core)
		}
		k.names[c.name] = c
		c.named = true
	}
	if c.older = k.first; c.older != nil {
		c.older.younger = c
	}
	k.first = c
	k.children++
	return nil
}

// release frees the name of a child that has ended; its parent goes on waiting until depart.
func (c *core) release() {
	p := c.parent
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.named {
		delete(p.kin.names, c.name)
	}
	if c.older != nil {
		c.older.younger = c.younger
	}
	if c.younger != nil {
		c.younger.older = c.older
	} else {
		p.kin.first = c.older
	}
	c.older, c.younger = nil, nil
}

// depart tells the parent that a child is quiet.
func (c *core) depart() {
	p := c.parent
	p.mu.Lock()
	p.kin.children--
	last := p.kin.children == 0
	p.mu.Unlock()
	if last {
		p.impl.poke()
	}
}

// children lists those that have not been released, youngest first.
func (c *core) children() []*core {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kin == nil {
		return nil
	}
	all := make([]*core, 0, c.kin.children)
	for k := c.kin.first; k != nil; k = k.older {
		all = append(all, k)
	}
	return all
}

// alone tells whether all children have departed; mu is held.
func (c *core) alone() bool { return c.kin == nil || c.kin.children == 0 }

// onEnd calls f when the cell has ended: at once, and with no entry, if its watchers have been told already. Who comes between has
// to wait, since dead letters are still being made and the name is not free.
func (c *core) onEnd(f func()) *list.Element {
	c.mu.Lock()
	if c.phase != told {
		defer c.mu.Unlock()
		return c.family().watchers.PushBack(f)
	}
	c.mu.Unlock()
	f()
	return nil
}

// forget takes back what onEnd was given.
func (c *core) forget(e *list.Element) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kin.watchers.Remove(e)
}

// announce tells the watchers; nobody joins them any more.
func (c *core) announce() {
	c.mu.Lock()
	c.phase = told
	var all []func()
	if c.kin != nil {
		for e := c.kin.watchers.Front(); e != nil; e = c.kin.watchers.Front() {
			all = append(all, c.kin.watchers.Remove(e).(func()))
		}
	}
	c.mu.Unlock()
	for _, f := range all {
		f()
	}
}
