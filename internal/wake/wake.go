// Package wake hands values to a loop that waits in a select. Who hands over never
// blocks; the loop is woken once for all that has come since it looked last.
package wake

import (
	"sync"
	"sync/atomic"
)

// A signal holds one token.
type signal chan struct{}

func (s signal) give() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// A List keeps all values, in order, until they are taken. It has no bound: it is
// for what a node says to itself, which is little.
type List[T any] struct {
	ready signal
	mu    sync.Mutex
	list  []T
}

// NewList begins with none.
func NewList[T any]() *List[T] { return &List[T]{ready: make(signal, 1)} }

// Add puts a value behind the others and wakes the loop.
func (l *List[T]) Add(v T) {
	l.mu.Lock()
	l.list = append(l.list, v)
	l.mu.Unlock()
	l.Signal()
}

// Signal wakes the loop, which may find nothing.
func (l *List[T]) Signal() { l.ready.give() }

// Ready gets a token when there may be something to take.
func (l *List[T]) Ready() <-chan struct{} { return l.ready }

// Take takes all values.
func (l *List[T]) Take() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list
	l.list = nil
	return list
}

// A Latest keeps the newest value; those that the loop did not look at in time are
// left out.
type Latest[T any] struct {
	changed signal
	v       atomic.Pointer[T]
}

// NewLatest begins with none.
func NewLatest[T any]() *Latest[T] { return &Latest[T]{changed: make(signal, 1)} }

// Set takes the place of the value before and wakes the loop.
func (l *Latest[T]) Set(v *T) {
	l.v.Store(v)
	l.changed.give()
}

// Changed gets a token when the value may be another one than before.
func (l *Latest[T]) Changed() <-chan struct{} { return l.changed }

// Load is the value now; nil before the first.
func (l *Latest[T]) Load() *T { return l.v.Load() }
