package actor

import (
	"reflect"
	"sync"
	"sync/atomic"
)

// kind is what the cells of one message type share that have the same options. It is not changed any more once a cell has it.
type kind[M any] struct {
	options
	chunks    *chunkPool[M]
	receipts  *sync.Pool           // of *note[M], for messages that come with a receipt
	stashed   *note[M]             // marks the message in hand as stashed
	answers   *atomic.Pointer[any] // the promisePool of the first type of answer that was asked for
	roundtrip func(any) (any, error)
}

// kindOf gives the system's kind of actors that understand M, varied by opts.
func kindOf[M any](s *System, opts []Option) (*kind[M], error) {
	plain := shared(s, func() *kind[M] {
		return &kind[M]{*s.defaults, new(chunkPool[M]), new(sync.Pool), new(note[M]), new(atomic.Pointer[any]), s.roundtrip}
	})
	if len(opts) == 0 {
		return plain, nil
	}
	varied := *plain
	for _, opt := range opts {
		opt.apply(&varied.options)
	}
	return &varied, varied.bad
}

// shared gives the system's T, made on first use.
func shared[T any](s *System, construct func() *T) *T {
	key := reflect.TypeFor[T]()
	if v, ok := s.types.Load(key); ok {
		return v.(*T)
	}
	v, _ := s.types.LoadOrStore(key, construct())
	return v.(*T)
}
