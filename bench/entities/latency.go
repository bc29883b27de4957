package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/troupe-go/troupe/actor"
)

// latencies are the times of all asks, by the second in which they were due.
type latencies struct {
	mu      sync.Mutex
	seconds [][]time.Duration
	failed  int
	first   error
}

func (l *latencies) add(second int, d time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed++
		if l.first == nil {
			l.first = err
		}
		return
	}
	for len(l.seconds) <= second {
		l.seconds = append(l.seconds, nil)
	}
	l.seconds[second] = append(l.seconds[second], d)
}

// patience is how long an ask may take before it counts as failed.
const patience = 10 * time.Second

// ask asks entities at random. A pacer says every millisecond which asks are
// due; askers take them in order.
func (c *cluster) ask(ctx context.Context, p plan) *latencies {
	l := &latencies{}
	due := make(chan time.Time, int(p.length.Seconds()+1)*p.rate) // so that the pacer never waits
	began := time.Now()
	var askers sync.WaitGroup
	for range p.askers {
		askers.Go(func() {
			for at := range due {
				ctx, cancel := context.WithTimeout(ctx, patience)
				_, err := actor.Ask(ctx, c.entity(rand.IntN(p.entities)), Hit{})
				cancel()
				l.add(int(at.Sub(began)/time.Second), time.Since(at), err)
			}
		})
	}
	pace(ctx, began, p, due)
	close(due)
	askers.Wait()
	return l
}

func pace(ctx context.Context, began time.Time, p plan, due chan<- time.Time) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for said := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		passed := min(time.Since(began), p.length)
		for ; said < int(passed.Seconds()*float64(p.rate)); said++ {
			due <- began.Add(time.Duration(said) * time.Second / time.Duration(p.rate))
		}
		if passed == p.length {
			return
		}
	}
}

func (l *latencies) asks() int {
	n := l.failed
	for _, s := range l.seconds {
		n += len(s)
	}
	return n
}

func (l *latencies) summary() string {
	all := slices.Concat(l.seconds...)
	if len(all) == 0 {
		return fmt.Sprintf("no ask was answered: %v", l.first)
	}
	slices.Sort(all)
	text := fmt.Sprintf("p50 %s, p99 %s, p99.9 %s, longest %s", at(all, 0.5), at(all, 0.99), at(all, 0.999), all[len(all)-1])
	if l.first != nil {
		text += fmt.Sprintf("; the first failure: %v", l.first)
	}
	return text
}

// at is the quantile q of sorted times.
func at(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Round(time.Microsecond)
}

// draw plots p50 and p99 of each second.
func (l *latencies) draw(file string, p plan) error {
	var p50, p99 plotter.XYs
	for second, times := range l.seconds {
		if len(times) == 0 {
			continue
		}
		slices.Sort(times)
		ms := func(q float64) float64 { return float64(at(times, q)) / float64(time.Millisecond) }
		p50 = append(p50, plotter.XY{X: float64(second), Y: ms(0.5)})
		p99 = append(p99, plotter.XY{X: float64(second), Y: ms(0.99)})
	}
	chart := plot.New()
	chart.Title.Text = fmt.Sprintf("%d live entities, %d asks a second", p.entities, p.rate)
	chart.X.Label.Text = "second"
	chart.Y.Label.Text = "latency, ms"
	chart.Y.Min = 0
	chart.Add(plotter.NewGrid())
	if err := plotutil.AddLines(chart, "p50", p50, "p99", p99); err != nil {
		return err
	}
	return chart.Save(20*vg.Centimeter, 9*vg.Centimeter, file)
}
