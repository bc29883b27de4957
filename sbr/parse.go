package sbr

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Parse reads a strategy as flags and files write it: keep-majority,
// static-quorum:N, keep-oldest, keep-oldest:down-if-alone, down-all,
// lease-majority, or lease-majority:D with another delay of the smaller side than
// 2s. It knows no roles.
func Parse(text string) (Strategy, error) {
	name, rest, more := strings.Cut(text, ":")
	switch {
	case name == StaticQuorum{}.Name():
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q: write how many nodes make a quorum, such as static-quorum:2", text)
		}
		return StaticQuorum{Size: n}, nil
	case name == LeaseMajority{}.Name() && more:
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || d > maxAcquireDelay {
			return nil, fmt.Errorf("%q: write for how long the smaller side waits, up to %v, such as lease-majority:2s", text, maxAcquireDelay)
		}
		return LeaseMajority{AcquireDelay: d}, nil
	case text == LeaseMajority{}.Name():
		return LeaseMajority{AcquireDelay: 2 * time.Second}, nil
	case text == KeepMajority{}.Name():
		return KeepMajority{}, nil
	case text == KeepOldest{}.Name():
		return KeepOldest{}, nil
	case text == KeepOldest{}.Name()+":down-if-alone":
		return KeepOldest{DownIfAlone: true}, nil
	case text == DownAll{}.Name():
		return DownAll{}, nil
	}
	return nil, fmt.Errorf("%q is no strategy: use keep-majority, static-quorum:N, keep-oldest, keep-oldest:down-if-alone, lease-majority or down-all", text)
}
