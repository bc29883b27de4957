package actor

import "time"

// note is one of the actor's own messages while the actor waits for it: a timer's tick, a death notice, a result. It
// is checked when it is taken out of the mailbox, so what was cancelled or belongs to a former incarnation is never delivered,
// however long it has been queued there.
type note[M any] struct {
	receipt Receipt // not nil: it goes with a message that was told, and nothing of the rest is used

	life   *Ctx[M] // the incarnation that waits
	msg    M
	forget func() // takes a death notice back from the one who is watched
	err    error  // the Go function panicked

	timer  *time.Timer
	key    string
	period time.Duration // of a ticker
	due    time.Duration // when a ticker's tick is to come, since the system's start

	keyed  bool
	gone   bool // taken back
	result bool // of a Go function

	before, behind *note[M] // in the list of notes
}

// notes are what an incarnation waits for, results of Go functions apart. They are the runner's.
type notes[M any] struct {
	last  *note[M]
	n     int
	index map[string]*note[M] // the keyed ones, once there are many
}

// unindexed is how many notes are looked through for a key. Most actors have one timer, if any, and a map for it takes more
// than twice its memory.
const unindexed = 8

func (p *notes[M]) add(n *note[M]) {
	if n.before = p.last; n.before != nil {
		n.before.behind = n
	}
	p.last = n
	p.n++
	switch {
	case p.index != nil && n.keyed:
		p.index[n.key] = n
	case p.index == nil && p.n > unindexed:
		p.index = make(map[string]*note[M], 2*unindexed)
		for k := p.last; k != nil; k = k.before {
			if k.keyed {
				p.index[k.key] = k
			}
		}
	}
}

func (p *notes[M]) remove(n *note[M]) {
	if n.before != nil {
		n.before.behind = n.behind
	}
	if n.behind != nil {
		n.behind.before = n.before
	} else {
		p.last = n.before
	}
	n.before, n.behind = nil, nil
	p.n--
	if n.keyed {
		delete(p.index, n.key)
	}
}

// keyed gives the note with that key, nil if there is none.
func (p *notes[M]) keyed(key string) *note[M] {
	if p.index != nil {
		return p.index[key]
	}
	for n := p.last; n != nil; n = n.before {
		if n.keyed && n.key == key {
			return n
		}
	}
	return nil
}

// undo takes one note back.
func (c *Cell[M]) undo(n *note[M]) {
	n.gone = true
	if n.timer != nil {
		n.timer.Stop()
	}
	if n.forget != nil {
		n.forget()
	}
	c.own.notes.remove(n)
}

// takeBack takes back all that an incarnation waited for.
func (c *Cell[M]) takeBack() {
	for p := &c.own.notes; p.last != nil; {
		c.undo(p.last)
	}
}

// admit looks at one of the actor's own messages when it is due, and puts the message into its slot; false drops it.
func (c *Cell[M]) admit(s *slot[M]) bool {
	n := s.note
	switch {
	case n.receipt != nil:
		return true
	case n.life != c.ctx && n.result:
		c.tooLate(n, ReasonRestarted)
		return false
	case n.life != c.ctx || n.gone:
		return false
	case n.err != nil:
		c.owned().failure = n.err
		return false
	case n.period > 0:
		n.again(c.sys.now())
	case !n.result:
		c.own.notes.remove(n)
	}
	s.m, s.note = n.msg, nil
	return true
}
