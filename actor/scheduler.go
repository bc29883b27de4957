package actor

import (
	"runtime"
	"sync"
)

// scheduler runs cells that have something to do. One rule keeps blocked behaviors from starving the others, without a
// clock that watches them: while the run queue is not empty, a worker is on its way to it that holds no cell. So before a
// worker runs a cell it sees to it that the rest of the queue has such a worker, woken or new. When all processors are
// busy that one simply waits for a processor, and there is never more than one of them: the number of workers that are not
// parked is the number of cells being run, plus one. (Go's own scheduler keeps a "spinning" thread by the same rule.)
type scheduler struct {
	mu      sync.Mutex
	queue   runQueue
	coming  bool      // a worker was woken and has not reached the queue yet
	parked  []*worker // last in, first out: the most recently used is the warmest
	keep    int       // how many may be parked; surplus ones, left from a time of blocked behaviors, end
	workers int
	closed  bool
	gone    chan struct{} // closed when the scheduler is closed and the last worker has left

	processors int
}

// worker is a goroutine that runs cells, one after another.
type worker struct {
	wake   chan struct{}
	linger lingering
}

func newScheduler() *scheduler {
	p := runtime.GOMAXPROCS(0)
	return &scheduler{keep: max(16, 2*p), processors: p, gone: make(chan struct{})}
}

// ready queues a cell that its caller has marked as queued.
func (s *scheduler) ready(c *core) {
	s.mu.Lock()
	s.queue.push(c)
	w, fresh := s.callLocked()
	s.mu.Unlock()
	s.start(w, fresh)
}

// next gives the worker its next cell. again is the cell it has just run when that has more to do: it goes behind the
// others. nil means that the worker must end.
func (s *scheduler) next(w *worker, again *core, woken bool) *core {
	lingered, gaveWay := false, false
	for ; ; woken = true {
		s.mu.Lock()
		if again != nil {
			s.queue.push(again)
			again = nil
		}
		if woken && !gaveWay && s.crowdedLocked() {
			gaveWay = true
			s.mu.Unlock()
			runtime.Gosched()
			continue
		}
		if woken {
			s.coming = false
		}
		var c *core
		if !s.crowdedLocked() {
			c = s.queue.pop()
		}
		if lingered {
			w.linger.paid(c != nil)
		}
		if c != nil {
			other, fresh := s.callLocked()
			s.mu.Unlock()
			s.start(other, fresh)
			return c
		}
		if !lingered && !s.coming && !s.closed && w.linger.pays() {
			lingered, s.coming = true, true
			s.mu.Unlock()
			runtime.Gosched()
			continue
		}
		if s.closed || len(s.parked) >= s.keep {
			s.leaveLocked()
			s.mu.Unlock()
			return nil
		}
		s.parked = append(s.parked, w)
		s.mu.Unlock()
		<-w.wake
		lingered, gaveWay = false, false
	}
}

// crowdedLocked tells whether there are more cells in the hands of workers than processors, and yet another worker is coming. Either behaviors
// block, or Go has taken the processor from workers in the midst of their cells, to be fair or to help the collector. For the latter's
// sake the coming one gives way once, so that they go on, and whoever has run his cell leaves the next one to him. Without, a busy
// system gets ever more workers, whose cells wait for each other's time.
func (s *scheduler) crowdedLocked() bool {
	return s.coming && s.workers-len(s.parked)-1 > s.processors
}

// callLocked picks the worker that must come to a queue that nobody is coming to; fresh means that it has no goroutine yet.
func (s *scheduler) callLocked() (w *worker, fresh bool) {
	if s.queue.empty() || s.coming {
		return nil, false
	}
	s.coming = true
	if n := len(s.parked); n > 0 {
		w = s.parked[n-1]
		s.parked = s.parked[:n-1]
		return w, false
	}
	s.workers++
	return &worker{wake: make(chan struct{}, 1)}, true
}

func (s *scheduler) start(w *worker, fresh bool) {
	switch {
	case w == nil:
	case fresh:
		go s.work(w, nil, true)
	default:
		w.wake <- struct{}{}
	}
}

func (s *scheduler) leaveLocked() {
	s.workers--
	if s.closed && s.workers == 0 {
		close(s.gone)
	}
}

// work is a worker's life.
func (s *scheduler) work(w *worker, again *core, woken bool) {
	var c *core
	defer func() {
		// A behavior that calls runtime.Goexit (t.FailNow does) ends this goroutine but not its cell, nor the worker.
		if c != nil {
			go s.work(w, c, false)
		}
	}()
	for c = s.next(w, again, woken); c != nil; c = s.next(w, again, false) {
		again = nil
		if !c.setAside() && c.impl.run() {
			again = c
		}
	}
}

// close lets all workers end; gone tells when they have. No cell may become ready any more.
func (s *scheduler) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	for _, w := range s.parked {
		w.wake <- struct{}{}
	}
	s.parked = nil
	if s.workers == 0 {
		close(s.gone)
	}
}
