package phi

import "time"

// Settings of a [Detector].
type Settings struct {
	Threshold       float64       // suspicion from which on a peer is unavailable
	MaxSamples      int           // intervals remembered
	MinStdDeviation time.Duration // lower limit of the deviation, for very regular heartbeats
	AcceptablePause time.Duration // silence that is no reason for suspicion
	FirstEstimate   time.Duration // guess of the interval, made up at the first heartbeat
}

// Detector judges one peer by the intervals between its heartbeats. Before the
// first one the peer is available and not monitored.
type Detector struct {
	settings Settings
	history  History
	last     time.Time // of the last heartbeat; zero before the first
}

// NewDetector makes a detector that has not heard anything yet.
func NewDetector(s Settings) *Detector {
	return &Detector{settings: s, history: NewHistory(s.MaxSamples)}
}

// Heartbeat records a sign of life. The interval that ends a period of
// unavailability is not learned: one pause must not make the detector patient.
func (d *Detector) Heartbeat(now time.Time) {
	switch {
	case !d.Monitoring():
		// Two made-up samples that deviate a little from the guess.
		ms := d.settings.FirstEstimate.Milliseconds()
		d.history.Add(ms - ms/4)
		d.history.Add(ms + ms/4)
	case d.Available(now):
		d.history.Add(now.Sub(d.last).Milliseconds())
	}
	d.last = now
}

// Monitoring tells whether there was a heartbeat yet.
func (d *Detector) Monitoring() bool { return !d.last.IsZero() }

// Available tells whether the suspicion is below the threshold.
func (d *Detector) Available(now time.Time) bool { return d.Phi(now) < d.settings.Threshold }

// Silence is how long ago the last heartbeat was; 0 before the first.
func (d *Detector) Silence(now time.Time) time.Duration {
	if !d.Monitoring() {
		return 0
	}
	return now.Sub(d.last)
}

// Phi is the suspicion at a time: 0 before the first heartbeat.
func (d *Detector) Phi(now time.Time) float64 {
	if !d.Monitoring() {
		return 0
	}
	mean := d.history.Mean() + float64(d.settings.AcceptablePause.Milliseconds())
	deviation := max(d.history.StdDeviation(), float64(d.settings.MinStdDeviation.Milliseconds()))
	return Phi(float64(now.Sub(d.last).Milliseconds()), mean, deviation)
}

// Deadline is the plain detector: available until Interval and Pause have
// passed since the last heartbeat, and always before the first. It suits links
// that are too slow and too uneven for statistics.
type Deadline struct {
	Interval time.Duration // between heartbeats
	Pause    time.Duration // silence on top that is acceptable

	last time.Time
}

// Heartbeat records a sign of life.
func (d *Deadline) Heartbeat(now time.Time) { d.last = now }

// Monitoring tells whether there was a heartbeat yet.
func (d *Deadline) Monitoring() bool { return !d.last.IsZero() }

// Available tells whether the deadline has not been reached.
func (d *Deadline) Available(now time.Time) bool {
	return !d.Monitoring() || now.Before(d.last.Add(d.Interval+d.Pause))
}
