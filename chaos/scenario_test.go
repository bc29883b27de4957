//go:build chaos && linux

package chaos

import (
	"syscall"
	"time"

	"github.com/troupe-go/troupe/chaos/network"
)

// The strategies, as sbr.Parse reads them.
const (
	majority = "keep-majority"
	quorum   = "static-quorum:3"
	oldest   = "keep-oldest"
	downAll  = "down-all"
	lease    = "lease-majority"
)

var strategies = []string{majority, quorum, oldest, downAll, lease}

// A scenario is what happens to five nodes, of which node 1 is the oldest and
// has the lowest address.
type scenario struct {
	name  string
	short bool                     // it is also in the short form
	times times                    // of the nodes
	with  []string                 // more flags of theirs
	watch time.Duration            // how long the outcome must stay as it is; 0: the usual
	do    func(r *rehearsal) error // may take its time
	left  func(strategy string) outcomes
}

// always is an outcome that depends on no strategy.
func always(o outcomes) func(string) outcomes { return func(string) outcomes { return o } }

// split is an outcome by strategy: those of keep-majority and static-quorum, of
// keep-oldest, and of lease-majority. With down-all nobody is left.
func split(counted, byAge, byLease outcomes) func(string) outcomes {
	return func(strategy string) outcomes {
		switch strategy {
		case oldest:
			return byAge
		case lease:
			return byLease
		case downAll:
			return outcomes(nobody)
		default:
			return counted
		}
	}
}

// silent is the outcome when one side is left by each strategy but down-all.
func silent(o outcomes) func(string) outcomes { return split(o, o, o) }

var scenarios = []scenario{
	{
		name: "partition 12|345", short: true,
		do:   func(r *rehearsal) error { return r.net.Part([]int{1, 2}, []int{3, 4, 5}) },
		left: split("345", "12", "345"),
	},
	{
		name: "partition 12|34|5",
		do: func(r *rehearsal) error {
			if err := r.net.Part([]int{1, 2}, []int{3, 4, 5}); err != nil {
				return err
			}
			return r.net.Part([]int{3, 4}, []int{5})
		},
		left: split("-", "12", "12|34|5"),
	},
	{
		name: "one-way cut, 12 to 345",
		do:   func(r *rehearsal) error { return r.net.Cut([]int{1, 2}, []int{3, 4, 5}) },
		left: split("345", "12", "345"),
	},
	{
		name: "one-way cut, 1 to 5", short: true,
		do:   func(r *rehearsal) error { return r.net.Cut([]int{1}, []int{5}) },
		left: silent("234"),
	},
	{
		name: "non-transitive: 12 and 45 meet in 3 only",
		do:   func(r *rehearsal) error { return r.net.Part([]int{1, 2}, []int{4, 5}) },
		left: silent("3"),
	},
	{
		name: "flapping 12|345, then healed", watch: 25 * time.Second,
		do:   func(r *rehearsal) error { return r.flap(8, 1500*time.Millisecond) },
		left: always("of 12345"),
	},
	{
		name: "flapping 12|345, then cut",
		do: func(r *rehearsal) error {
			if err := r.flap(4, 1500*time.Millisecond); err != nil {
				return err
			}
			return r.net.Part([]int{1, 2}, []int{3, 4, 5})
		},
		left: always("of 12|of 345"),
	},
	{
		name: "resets from the port of 3", short: true,
		do:   func(r *rehearsal) error { return r.net.Refuse(3, port) },
		left: silent("1245"),
	},
	{
		name: "resets of all traffic of 3", short: true, times: defaultTimes,
		do:   func(r *rehearsal) error { return r.net.Reset(3) },
		left: silent("1245"),
	},
	{
		name: "resets of all that comes to 3, no crash detection", times: defaultTimes,
		with: []string{"-no-crash-detection"},
		do:   func(r *rehearsal) error { return r.net.ResetInward(3) },
		left: silent("1245"),
	},
	{
		name: "10 % loss", times: defaultTimes, watch: 30 * time.Second,
		do:   func(r *rehearsal) error { r.net.Set(network.Link{Loss: 0.1}); return nil },
		left: always("12345"),
	},
	{
		name: "200 ms delay", times: defaultTimes, watch: 30 * time.Second,
		do:   func(r *rehearsal) error { r.net.Set(network.Link{Delay: 200 * time.Millisecond}); return nil },
		left: always("12345"),
	},
	{
		name: "partition 12|345, 50 ms delay, 2 % loss, repeats", times: defaultTimes,
		do: func(r *rehearsal) error {
			r.net.Set(network.Link{Loss: 0.02, Repeat: 0.02, Delay: 50 * time.Millisecond, Jitter: 10 * time.Millisecond})
			return r.net.Part([]int{1, 2}, []int{3, 4, 5})
		},
		left: split("345", "12", "345"),
	},
	{
		name: "kill -9 of 3", times: defaultTimes,
		do:   func(r *rehearsal) error { return r.signal(3, syscall.SIGKILL) },
		left: always("1245"),
	},
	{
		name: "SIGSTOP of 3 for 30 s", short: true, times: defaultTimes,
		do: func(r *rehearsal) error {
			if err := r.signal(3, syscall.SIGSTOP); err != nil {
				return err
			}
			pass(30 * time.Second) // others answer for what it hosted by then, or it shows nothing
			return r.signal(3, syscall.SIGCONT)
		},
		left: silent("1245"),
	},
}
