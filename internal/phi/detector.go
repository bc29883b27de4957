// Package phi suspects: the phi accrual failure detector and the ring of heartbeats.
package phi

import "time"

// Settings of a [Detector].
type Settings struct {
	Threshold       float64       // suspicion from which on a resource is unavailable
	MaxSamples      int           // intervals remembered
	MinStdDeviation time.Duration // lower limit of the deviation, for very regular heartbeats
	AcceptablePause time.Duration // silence that is no reason for suspicion
	FirstEstimate   time.Duration // guess of the interval, made up at the first heartbeat
}
