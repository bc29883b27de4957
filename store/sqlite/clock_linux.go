package sqlite

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machine is the clock since the boot of this machine: all its processes read
// the same, nobody can set it, and it goes on while the machine is suspended.
func machine() (clock, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return clock{}, fmt.Errorf("tell this boot from others: %w", err)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return clock{}, fmt.Errorf("read the clock since boot: %w", err)
	}
	return clock{boot: strings.TrimSpace(string(id)), now: sinceBoot}, nil
}

func sinceBoot() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		panic(fmt.Sprintf("sqlite: the clock since boot cannot be read any more: %v", err))
	}
	return time.Duration(now.Nano())
}
