package actor

// runQueue holds the cells that are to run: first come, first served, except that children that have never run have a queue of
// their own, which is served every second time, the youngest first. So a tree of actors that grows while it works is walked in depth, and
// few of its actors are alive at a time; in breadth they would all be. (A tree of a million takes a third
// of the time, for the collector's sake.) No child waits for ever: every 64th turn is the oldest one's.
type runQueue struct {
	head, tail *core
	children   []*core // oldest first
	turn       uint32
}

func (q *runQueue) empty() bool { return q.head == nil && len(q.children) == 0 }

func (q *runQueue) push(c *core) {
	switch {
	case c.child:
		c.child = false
		q.children = append(q.children, c)
	case q.tail == nil:
		q.head, q.tail = c, c
	default:
		q.tail.queue = c
		q.tail = c
	}
}

// pop gives the next cell, nil if there is none.
func (q *runQueue) pop() *core {
	q.turn++
	last := len(q.children) - 1
	switch {
	case last < 0 || q.head != nil && q.turn%2 == 0:
		return q.first()
	case q.turn%64 == 1:
		c := q.children[0]
		q.children[0] = nil
		q.children = q.children[1:]
		return c
	default:
		c := q.children[last]
		q.children[last] = nil
		q.children = q.children[:last]
		return c
	}
}

// first takes the first of those that are served in turn.
func (q *runQueue) first() *core {
	c := q.head
	if c != nil {
		q.head, c.queue = c.queue, nil
		if q.head == nil {
			q.tail = nil
		}
	}
	return c
}
