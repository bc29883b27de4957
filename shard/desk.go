package shard

import (
	"context"
	"sync"
	"time"
)

// A desk asks the store what a core wants to know, off the loop, and has the loop
// take the step with the answer. A core asks for one thing at a time.
type desk struct {
	limit   time.Duration // of each request
	answers chan report

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // of the request in hand
}

// A report is a step of a core that waits to be taken on the loop.
type report func(now time.Time) said

func newDesk(limit time.Duration) *desk {
	d := &desk{limit: limit, answers: make(chan report)}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// do begins a request.
func (d *desk) do(request func(context.Context) report) {
	d.work.Go(func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.limit)
		defer cancel()
		d.tell(request(ctx))
	})
}

// tell waits until the loop takes the step, or the desk is closed.
func (d *desk) tell(r report) {
	select {
	case d.answers <- r:
	case <-d.ctx.Done():
	}
}

// close ends the request in hand and waits for it.
func (d *desk) close() {
	d.cancel()
	d.work.Wait()
}
