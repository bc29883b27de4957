package actor

import (
	"math"
	"time"
)

// policy says what happens after a failure. The zero value stops the actor. It is a value: actors may share one.
type policy struct {
	limit    int // restarts within the window; negative: without limit
	within   time.Duration
	min, max time.Duration
}

// Restart has a failed actor started again: same Ref and mailbox, new behavior, new Ctx. What the failed incarnation made
// is released first (timers, watches, children, cleanup functions); its stash comes back before the mailbox, and only the
// message that failed is a dead letter. It is restarted at most
// limit times [Within] a minute, with a [Backoff] of 10 ms to 10 s, unless opts say otherwise; one failure more stops it. A negative
// limit restarts for ever. A restart whose Start fails counts as the next failure.
func Restart(limit int, opts ...RestartOption) Option {
	return optionFunc(func(o *options) {
		p := policy{limit: limit, within: time.Minute, min: 10 * time.Millisecond, max: 10 * time.Second}
		for _, opt := range opts {
			opt(&p)
		}
		o.restart = p
		o.require(p.within > 0, "Within(%v): more than 0", p.within)
		o.require(p.min >= 0 && p.max >= p.min, "Backoff(%v, %v): not negative, not descending", p.min, p.max)
	})
}

// RestartOption varies [Restart].
type RestartOption func(*policy)

// Within sets the window in which restarts are counted; for the whole life of the actor, give it math.MaxInt64.
func Within(d time.Duration) RestartOption { return func(p *policy) { p.within = d } }

// Backoff sets the delays: minimum before the first restart in the window, then twice as long each time, up to maximum; each up to a fifth
// longer, so that actors that failed together do not return together. Messages wait in the mailbox meanwhile. Backoff(0, 0)
// restarts at once.
func Backoff(minimum, maximum time.Duration) RestartOption {
	return func(p *policy) { p.min, p.max = minimum, maximum }
}

// remembered bounds the history of an actor that restarts without limit; by then its delay has long been at its maximum.
const remembered = 64

// decide is asked after a failure at now. past holds the earlier restarts, oldest first; kept is what of it still
// counts. With ok the actor is to be restarted after delay. jitter is from [0, 1).
func (p policy) decide(past []time.Time, now time.Time, jitter float64) (delay time.Duration, kept []time.Time, ok bool) {
	for len(past) > 0 && (now.Sub(past[0]) > p.within || p.limit < 0 && len(past) >= remembered) {
		past = past[1:]
	}
	if p.limit >= 0 && len(past) >= p.limit {
		return 0, past, false
	}
	delay = p.min
	for range past {
		if delay > p.max/2 {
			delay = p.max
			break
		}
		delay *= 2
	}
	extra := float64(delay) / 5 * jitter
	return time.Duration(math.Min(float64(delay)+extra, math.MaxInt64/2)), past, true
}
