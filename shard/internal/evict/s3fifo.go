package evict

// fifos is S3-FIFO: Yang et al., "FIFO Queues are All You Need for Cache
// Eviction" (SOSP 2023), algorithm 1. Newcomers enter a small queue. Those that
// were used there more than once go on to the main queue, the others go, and are
// remembered: who comes again soon enters the main queue at once. The main queue
// gives everybody as many further rounds as uses were counted, three at most. What a
// scan touches once passes through the small queue and displaces nobody else.
type fifos[T any] struct {
	look    func(T) Use
	newcome fifo[T]
	main    fifo[T]
	ghosts  ghosts
}

const (
	smallShare = 10 // the small queue's share is one in so many
	maxFreq    = 3
	popular    = 2 // uses that take a newcomer to the main queue
)

// NewS3FIFO lets newcomers go before those that have proved to be used again.
func NewS3FIFO[T any](look func(T) Use) Policy[T] { return &fifos[T]{look: look} }

func (f *fifos[T]) Len() int { return f.newcome.n + f.main.n }

func (f *fifos[T]) Add(e *Entry[T]) {
	if e.in != nowhere {
		return
	}
	e.freq = 0
	if f.ghosts.take(e.Hash) {
		f.main.push(e, main)
	} else {
		f.newcome.push(e, small)
	}
}

func (f *fifos[T]) Remove(e *Entry[T]) {
	switch e.in {
	case small:
		f.newcome.remove(e)
	case main:
		f.main.remove(e)
	case nowhere, ranked:
	}
}

func (f *fifos[T]) Next() (*Entry[T], bool) {
	for range maxLooks {
		if f.newcome.n > 0 && (f.newcome.n*smallShare >= f.Len() || f.main.n == 0) {
			e := f.newcome.pop()
			if f.uses(e) < popular {
				return f.leave(e)
			}
			e.freq = 0
			f.main.push(e, main)
			continue
		}
		e := f.main.pop()
		if e == nil {
			return nil, false
		}
		if f.uses(e) == 0 {
			return e, true
		}
		e.freq--
		f.main.push(e, main)
	}
	if e := f.newcome.pop(); e != nil {
		return f.leave(e)
	}
	e := f.main.pop()
	return e, e != nil
}

// leave remembers a newcomer that goes.
func (f *fifos[T]) leave(e *Entry[T]) (*Entry[T], bool) {
	f.ghosts.add(e.Hash, f.Len())
	return e, true
}

// uses counts, up to three.
func (f *fifos[T]) uses(e *Entry[T]) uint32 {
	e.freq = min(e.freq+f.look(e.Value).More, maxFreq)
	return e.freq
}

// fifo is a queue out of whose middle entries can be taken.
type fifo[T any] struct {
	n            int
	newest, last *Entry[T]
}

func (q *fifo[T]) push(e *Entry[T], in where) {
	e.in, e.prev, e.next = in, nil, q.newest
	if q.newest != nil {
		q.newest.prev = e
	} else {
		q.last = e
	}
	q.newest = e
	q.n++
}

// pop takes the one that came first, nil when there is none.
func (q *fifo[T]) pop() *Entry[T] {
	e := q.last
	if e != nil {
		q.remove(e)
	}
	return e
}

func (q *fifo[T]) remove(e *Entry[T]) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		q.newest = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		q.last = e.prev
	}
	e.in, e.prev, e.next = nowhere, nil, nil
	q.n--
}

// ghosts remember by their hashes about as many of those that went as there are
// entries. It is a table with one place per hash, in which the newer takes the
// older's: forgetting one too early costs no more than a round as a newcomer.
type ghosts struct {
	table []ghost // its length is a power of two
	went  uint32  // how many were remembered in all, modulo 2^32
}

type ghost struct{ hash, went uint32 }

const minGhosts = 16

// add remembers; the table has a place for each of n. Growing forgets all.
func (g *ghosts) add(hash uint32, n int) {
	if len(g.table) < n || len(g.table) == 0 {
		size := minGhosts
		for size < n {
			size *= 2
		}
		g.table = make([]ghost, size)
	}
	g.went++
	*g.place(hash) = ghost{hash, g.went}
}

// take tells whether a hash is remembered, and forgets it.
func (g *ghosts) take(hash uint32) bool {
	if len(g.table) == 0 {
		return false
	}
	at := g.place(hash)
	known := *at != ghost{} && at.hash == hash && g.went-at.went < uint32(len(g.table))
	if known {
		*at = ghost{}
	}
	return known
}

func (g *ghosts) place(hash uint32) *ghost { return &g.table[hash&uint32(len(g.table)-1)] }
