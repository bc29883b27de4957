//go:build !linux

package sqlite

import "time"

// machine is the wall clock: the one that all processes of a machine share
// everywhere. Setting it by more than the margin of a lease, while it is held,
// lets the lease run out too early or too late.
func machine() (clock, error) {
	return clock{boot: "wall clock", now: func() time.Duration { return time.Duration(time.Now().UnixNano()) }}, nil
}
