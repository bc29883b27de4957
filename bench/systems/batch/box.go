package main

import "sync"

// box is an actor: messages wait in a slice that its goroutine takes whole. An
// idle box has no goroutine and no slice.
type box struct {
	handle func(m add)
	bound  *bound

	mu      sync.Mutex
	waiting []add
	running bool
}

// bound makes tell wait while so many messages wait.
type bound struct {
	limit int
	room  sync.Cond
}

const unbounded = 0

func newBox(limit int, handle func(add)) *box {
	b := &box{handle: handle}
	if limit != unbounded {
		b.bound = &bound{limit: limit}
		b.bound.room.L = &b.mu
	}
	return b
}

func (b *box) tell(m add) {
	b.mu.Lock()
	for b.bound != nil && len(b.waiting) >= b.bound.limit {
		b.bound.room.Wait()
	}
	b.waiting = append(b.waiting, m)
	start := !b.running
	b.running = true
	b.mu.Unlock()
	if start {
		go b.run()
	}
}

func (b *box) run() {
	var batch []add
	for {
		b.mu.Lock()
		batch, b.waiting = b.waiting, batch[:0]
		if len(batch) == 0 {
			b.running, b.waiting = false, nil
			b.mu.Unlock()
			return
		}
		full := b.bound != nil && len(batch) == b.bound.limit
		b.mu.Unlock()
		if full {
			b.bound.room.Broadcast()
		}
		for _, m := range batch {
			b.handle(m)
		}
	}
}
