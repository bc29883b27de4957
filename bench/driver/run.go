package driver

import (
	"cmp"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/bench/work"
)

// Run is one run of one work.
type Run struct {
	Work    work.Work
	N       int // operations to do
	profile string
	peers   []*Peer
	result  work.Result
}

// warm is the part of a run that is done before the clock starts, as a share
// of N.
const warm = 10

// Measure lets do perform a tenth of the operations to warm up, then all of
// them by the clock. do returns when the last one is done.
func (r *Run) Measure(do func(n int) error) error {
	if err := do(max(1, r.N/warm)); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	return r.MeasureCold(do)
}

// MeasureCold is Measure without a warm-up: for works that begin with nothing.
func (r *Run) MeasureCold(do func(n int) error) error {
	stop, err := r.startProfiles()
	if err != nil {
		return err
	}
	before, err := r.allMallocs()
	if err != nil {
		return err
	}
	start := time.Now()
	err = do(r.N)
	took := time.Since(start)
	after, countErr := r.allMallocs()
	if err := cmp.Or(err, countErr, stop()); err != nil {
		return err
	}
	r.result = work.Result{Work: r.Work.Name, Unit: r.Work.Unit, Value: r.value(took)}
	allocs := math.Round(float64(after-before)/float64(r.N)*1000) / 1000
	r.result.AllocsPerOp = &allocs
	return nil
}

func (r *Run) value(took time.Duration) float64 {
	switch {
	case r.Work.Unit.Rate():
		return float64(r.N) / took.Seconds()
	case r.Work.Unit == work.Nanoseconds:
		return float64(took.Nanoseconds()) / float64(r.N)
	default:
		return took.Seconds()
	}
}

// Send is Measure for messages: senders of them are at work at the same time,
// each calls send for its share, then received waits until all have arrived
// and gives their number.
func (r *Run) Send(senders int, send func() error, received func() (int, error)) error {
	sum := 0
	return r.Measure(func(n int) error {
		sum += n
		err := together(senders, n, func(_, share int) error {
			for range share {
				if err := send(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		got, err := received()
		if err == nil && got != sum {
			err = fmt.Errorf("%d of %d messages have arrived", got, sum)
		}
		return err
	})
}

// Fan is Measure for rounds: in each, send is called for each of so many actors,
// who say Done when they have handled their message, and the next begins when all
// have.
func (r *Run) Fan(actors int, handled *sync.WaitGroup, send func(actor int) error) error {
	return r.Measure(func(n int) error {
		for range (n + actors - 1) / actors {
			handled.Add(actors)
			for i := range actors {
				if err := send(i); err != nil {
					return err
				}
			}
			handled.Wait()
		}
		return nil
	})
}

// Ask is Measure for asks: askers are at work at the same time, and ask is
// called with the number of the asker and that of its ask.
func (r *Run) Ask(askers int, ask func(asker, i int) error) error {
	return r.Measure(func(n int) error {
		return together(askers, n, func(asker, share int) error {
			for i := range share {
				if err := ask(asker, i); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// AskTimed is Ask with a look at the clock around each ask. The median and the
// 99th percentile are reported beside the value; if the work is in ns, the
// median is the value.
func (r *Run) AskTimed(askers int, ask func(asker, i int) error) error {
	times := make([][]time.Duration, askers)
	for i := range times {
		times[i] = make([]time.Duration, 0, r.N/askers+1)
	}
	err := r.Measure(func(n int) error {
		return together(askers, n, func(asker, share int) error {
			mine := times[asker][:0]
			for i := range share {
				start := time.Now()
				if err := ask(asker, i); err != nil {
					return err
				}
				mine = append(mine, time.Since(start))
			}
			times[asker] = mine
			return nil
		})
	})
	if err != nil {
		return err
	}
	all := slices.Concat(times...)
	slices.Sort(all)
	p50, p99 := float64(quantile(all, 0.50)), float64(quantile(all, 0.99))
	r.result.Extra = map[string]float64{"p50": p50, "p99": p99}
	if r.Work.Unit == work.Nanoseconds {
		r.result.Value = p50
	}
	return nil
}

// Resident measures what grow adds to the resident memory of the process, per
// operation, when the garbage is gone.
func (r *Run) Resident(grow func(n int) error) error {
	before, err := resident()
	if err != nil {
		return err
	}
	if err := grow(r.N); err != nil {
		return err
	}
	after, err := resident()
	if err != nil {
		return err
	}
	each := max(1, float64(after-before)/float64(r.N))
	r.result = work.Result{Work: r.Work.Name, Unit: r.Work.Unit, Value: math.Round(each*10) / 10}
	return nil
}

// resident is the memory of this process that is in RAM, once the garbage has
// been given back.
func resident() (bytes int64, err error) {
	debug.FreeOSMemory()
	debug.FreeOSMemory() // what finalizers and pools held
	return residentNow()
}

// together divides n operations over parts goroutines and gives the first error.
func together(parts, n int, do func(part, share int) error) error {
	if parts == 1 {
		return do(0, n)
	}
	errs := make([]error, parts)
	var wg sync.WaitGroup
	for p := range parts {
		wg.Go(func() { errs[p] = do(p, n*(p+1)/parts-n*p/parts) })
	}
	wg.Wait()
	return cmp.Or(errs...)
}

// quantile of sorted durations, by nearest rank.
func quantile(sorted []time.Duration, q float64) time.Duration {
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}
