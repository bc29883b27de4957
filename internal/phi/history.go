package phi

import "math"

// History is a sliding window over the newest intervals, in milliseconds. Its
// sums are integers, so that they do not drift however long it runs.
type History struct {
	limit   int
	samples []int64 // a ring once full
	oldest  int
	sum     int64
	squares int64
}

// maxInterval bounds one sample (about 12 days), so that the squares of a
// window of any sensible size cannot overflow.
const maxInterval = 1 << 30

// NewHistory makes an empty window of at most limit samples (at least one).
func NewHistory(limit int) History { return History{limit: max(limit, 1)} }

// Add takes a sample into the window and pushes the oldest out when it is full.
func (h *History) Add(ms int64) {
	ms = min(max(ms, 0), maxInterval)
	if len(h.samples) < h.limit {
		h.samples = append(h.samples, ms)
	} else {
		old := h.samples[h.oldest]
		h.sum -= old
		h.squares -= old * old
		h.samples[h.oldest] = ms
		h.oldest = (h.oldest + 1) % h.limit
	}
	h.sum += ms
	h.squares += ms * ms
}

// Mean of the window; 0 when it is empty.
func (h *History) Mean() float64 {
	if len(h.samples) == 0 {
		return 0
	}
	return float64(h.sum) / float64(len(h.samples))
}

// Variance of the window as a population: divided by the number of samples.
func (h *History) Variance() float64 {
	if len(h.samples) == 0 {
		return 0
	}
	mean := h.Mean()
	return max(float64(h.squares)/float64(len(h.samples))-mean*mean, 0)
}

// StdDeviation is the square root of the variance.
func (h *History) StdDeviation() float64 { return math.Sqrt(h.Variance()) }
