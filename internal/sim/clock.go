package sim

import "time"

// skew is how much faster than the others the clock of a machine may be, or
// slower.
const skew = 0.05

// local is what the clock of a node's process shows.
func (n *node) local(t time.Time) time.Time {
	if n.rate == 1 {
		return t
	}
	return birth.Add(time.Duration(float64(t.Sub(birth)) * n.rate))
}

// global is when the clock of a node's process will have passed that.
func (n *node) global(t time.Time) time.Time {
	if n.rate == 1 || t.IsZero() {
		return t
	}
	return birth.Add(time.Duration(float64(t.Sub(birth))/n.rate) + time.Microsecond)
}

// drawRate is how fast the clock of a new process runs.
func (w *World) drawRate() float64 {
	if !w.badRates {
		return 1
	}
	return 1 + skew*(2*w.rand.Float64()-1)
}
