package driver

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// residentNow reads the resident set from Linux; see proc_pid_statm(5).
func residentNow() (int64, error) {
	const file = "/proc/self/statm"
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("resident memory is measured on Linux only: %w", err)
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, fmt.Errorf("%s: %q has no second field", file, text)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	return pages * int64(os.Getpagesize()), nil
}
