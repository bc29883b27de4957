package actor

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Request is a message that is answered with an R.
type Request[M, R any] interface{ WithReply(Reply[R]) M }

// Ask sends q and waits for the answer, for the request to become a dead letter, or for ctx. R and M are inferred from q. An answer that is
// an error is returned as it is, and so is every error that came from another node. What else ends an ask without an answer is an *AskError:
// the refusal of Tell, ErrNoReply, the error of whoever routed the request and gave it up (see [Promise.Reject]), or ctx's error. A request
// that was accepted but is never answered ends only with ctx: give it a deadline. [AskError.Fate] tells whether it may have been handled. Ask starts no goroutine and leaves nothing behind. Do not
// ask from a behavior, which would wait instead of handling: use Ctx.Go.
func Ask[M, R any, Q Request[M, R]](ctx context.Context, to Ref[M], q Q) (R, error) {
	p := promiseFor[M, R](to.door)
	ask := p.begin(ctx)
	err := to.Tell(ctx, q.WithReply(Reply[R]{p, ask}))
	if err != nil {
		p.drop(ask, Fated(err, NotHandled))
	}
	v, answered, err := p.wait(ctx, ask)
	if err == nil {
		return v, nil
	}
	if fate := FateOf(err); !answered || fate != Unknown { // from another node what was given up comes like an answer
		err = &AskError{To: to.String(), Request: fmt.Sprintf("%T", q), Fate: fate, Err: err}
	}
	return v, err
}

// promise is the asker's end of local asks, one after another: a system reuses them, and an answer to a former ask is known by
// its number.
type promise[R any] struct {
	done chan struct{} // one token when the ask has ended
	pool *promisePool[R]
	sys  *System

	// state is the number of the last ask, a multiple of nextAsk, and whether it waits. Whoever takes the bit away ends the ask:
	// only he may write the result, which is the asker's once done has its token.
	state    atomic.Uint64
	value    R
	err      error
	answered bool      // by an actor; else the ask was dropped, or given up
	timed    bool      // deadline is not zero; the asker's
	linger   lingering // the asker's

	mu       sync.Mutex
	deadline time.Time // zero for none
	hook     func()    // run at the end of the ask; nil for none
}

// The bits of a promise's state.
const (
	waits   = 1 << iota
	hooked  // there is a hook: the end of the ask takes the mutex
	nextAsk // added to the number
)

// promisePool keeps the promises of one answer type within one system.
type promisePool[R any] struct {
	idle sync.Pool
	sys  *System
}

// promiseFor gives a promise that is not in use. Only a door with a home has a pool: channels may not cross the bubbles of testing/synctest.
func promiseFor[M, R any](door Door[M]) *promise[R] {
	if c, ok := door.(*Cell[M]); ok { // spares most asks the look into the system's table
		if known := c.kind.answers.Load(); known != nil {
			if p, ok := (*known).(*promisePool[R]); ok {
				return p.get()
			}
		}
		p := promisesOf[R](c.sys)
		known := any(p)
		c.kind.answers.CompareAndSwap(nil, &known)
		return p.get()
	}
	if h, ok := door.(Host); ok {
		if sys := h.Home().System(); sys != nil {
			return promisesOf[R](sys).get()
		}
	}
	return &promise[R]{done: make(chan struct{}, 1)}
}

// promisesOf gives the system's pool.
func promisesOf[R any](s *System) *promisePool[R] {
	return shared(s, func() *promisePool[R] { return &promisePool[R]{sys: s} })
}

func (p *promisePool[R]) get() *promise[R] {
	if q, ok := p.idle.Get().(*promise[R]); ok {
		return q
	}
	return &promise[R]{done: make(chan struct{}, 1), pool: p, sys: p.sys}
}

// begin begins an ask and gives its number.
func (p *promise[R]) begin(ctx context.Context) (ask uint64) {
	ask = p.state.Load() + nextAsk
	if deadline, ok := ctx.Deadline(); ok || p.timed {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.deadline, p.timed = deadline, ok
	}
	p.state.Store(ask | waits)
	return ask
}

// wait gives the end of the ask, which is that of ctx at the latest, and lets the promise be used again: late answers are told
// from those to a later ask by their number.
func (p *promise[R]) wait(ctx context.Context, ask uint64) (v R, answered bool, err error) {
	if p.linger.pays() {
		runtime.Gosched()
		p.linger.paid(len(p.done) > 0)
	}
	if done := ctx.Done(); done == nil || len(p.done) > 0 {
		<-p.done // much cheaper than a select
	} else {
		select {
		case <-p.done:
		case <-done:
			p.drop(ask, ctx.Err()) // unless it is being answered right now
			<-p.done
		}
	}
	v, answered, err = p.value, p.answered, p.err
	if p.pool != nil {
		var none R
		p.value, p.err = none, nil
		p.pool.idle.Put(p)
	}
	return v, answered, err
}

// drop ends an ask that nobody has answered.
func (p *promise[R]) drop(ask uint64, err error) {
	var none R
	p.end(ask, none, err, false)
}

// end ends the ask, if it is the one that waits.
func (p *promise[R]) end(ask uint64, v R, err error, answered bool) bool {
	hook, ok := p.claim(ask)
	if !ok {
		return false
	}
	p.value, p.err, p.answered = v, err, answered
	p.done <- struct{}{}
	if hook != nil {
		hook()
	}
	return true
}

// claim gives the right to end the ask to the first who comes.
func (p *promise[R]) claim(ask uint64) (hook func(), ok bool) {
	if p.state.CompareAndSwap(ask|waits, ask) {
		return nil, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state.CompareAndSwap(ask|waits|hooked, ask) {
		hook, p.hook = p.hook, nil
		return hook, true
	}
	return nil, false
}

// onEnd has f run at the end of the ask.
func (p *promise[R]) onEnd(ask uint64, f func()) {
	if !p.hooks(ask, f) {
		f()
	}
}

// hooks tells whether the end of the ask, which is still to come, will run f.
func (p *promise[R]) hooks(ask uint64, f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.state.CompareAndSwap(ask|waits, ask|waits|hooked) && p.state.Load() != ask|waits|hooked {
		return false
	}
	p.hook = after(p.hook, f)
	return true
}

func (p *promise[R]) answer(c context.Context, ask uint64, v R) error {
	if !p.end(ask, v, nil, true) {
		lost(c, p.sys, v, ReasonLateReply)
	}
	return nil
}

func (p *promise[R]) fail(c context.Context, ask uint64, err error) error {
	var none R
	if !p.end(ask, none, err, true) {
		lost(c, p.sys, err, ReasonLateReply)
	}
	return nil
}

func (p *promise[R]) open(ask uint64) bool { return p.state.Load()&^hooked == ask|waits }

func (p *promise[R]) deadlineOf(ask uint64) (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state.Load()&^(waits|hooked) != ask {
		return time.Time{}, false
	}
	return p.deadline, !p.deadline.IsZero()
}

func (*promise[R]) responder() Responder[R] { return nil }
