package sim

import (
	"container/heap"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
)

// event is something that will happen at a moment of virtual time. Exactly one
// of its three forms is set: a packet that arrives, a node that is woken, or a
// change of the world.
type event struct {
	at     time.Time
	seq    uint64 // those of one moment come in the order in which they were planned
	packet *packet
	wakes  *node
	do     func()
}

// packet is a message on its way.
type packet struct {
	from, to member.ID // the UID of to is zero when only an address was meant
	msg      gossip.Message
	data     []byte // msg encoded, which is read instead; nil when it does not travel as bytes
}

type queue struct {
	events []event
	seq    uint64
}

func (q *queue) push(e event) {
	q.seq++
	e.seq = q.seq
	heap.Push((*byTime)(&q.events), e)
}

func (q *queue) pop() event { return heap.Pop((*byTime)(&q.events)).(event) }

// next is when the first event is due.
func (q *queue) next() (time.Time, bool) {
	if len(q.events) == 0 {
		return time.Time{}, false
	}
	return q.events[0].at, true
}

type byTime []event

func (b byTime) Len() int { return len(b) }

func (b byTime) Less(i, j int) bool {
	if !b[i].at.Equal(b[j].at) {
		return b[i].at.Before(b[j].at)
	}
	return b[i].seq < b[j].seq
}

func (b byTime) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b *byTime) Push(x any)   { *b = append(*b, x.(event)) }

func (b *byTime) Pop() any {
	last := len(*b) - 1
	e := (*b)[last]
	(*b)[last] = event{}
	*b = (*b)[:last]
	return e
}
