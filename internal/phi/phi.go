// Package phi suspects: it turns the rhythm of heartbeats into a level of
// suspicion for each neighbour, and it decides who is whose neighbour.
//
// [Detector] is the accrual failure detector of Hayashibara et al. ("The φ
// accrual failure detector", 2004): phi 8 means that, had the peer been alive,
// a silence as long as this one would be seen about once in 10^8 times.
// [Deadline] is the plain alternative. [Ring] spreads the work of watching, and
// [Watch] ties ring and detectors together for one node.
//
// Everything here is a plain value with one owner; time is an argument, only
// differences of times matter, and nothing blocks. All sets come out in order.
package phi

import "math"

// Phi is the suspicion level -log10(1 - F(y)), y = (diff - mean) / stdDev, with
// F the normal distribution in the logistic approximation by Bowling et al.
// ("A logistic approximation to the cumulative normal distribution", 2009). All
// arguments are in the same unit. It may be +Inf.
func Phi(diff, mean, stdDev float64) float64 {
	y := (diff - mean) / stdDev
	e := math.Exp(-y * (1.5976 + 0.070566*y*y))
	if diff > mean {
		return -math.Log10(e / (1 + e)) // keeps its precision far out, where F is 1
	}
	return -math.Log10(1 - 1/(1+e))
}
