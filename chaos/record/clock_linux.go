package record

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Now reads the machine's monotonic clock, which its processes read alike.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(fmt.Sprintf("record: read CLOCK_MONOTONIC: %v", err)) // the kernel always has it
	}
	return time.Duration(t.Nano())
}
