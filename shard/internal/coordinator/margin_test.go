package coordinator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// The margin is that of the cluster as those know it who were removed from it: of
// its size at that time and not at the start, also when they go one by one.
func TestMarginIsThatOfTheClusterBeforeTheRemovals(t *testing.T) {
	for _, tt := range []struct {
		name  string
		views []int // how many members each has
		want  time.Duration
	}{
		{"together", []int{12, 8}, 12 * time.Second},
		{"one by one", []int{12, 11, 10, 9, 8}, 12 * time.Second},
		{"after it grew", []int{3, 12, 8}, 12 * time.Second},
		{"after it shrank", []int{8, 5}, 8 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &rig{t: t, now: time.Unix(0, 0)}
			r.core = New(a, Settings{Agree: "x", Margin: func(members int) time.Duration { return time.Duration(members) * time.Second }})
			for _, n := range tt.views {
				members := []string{"a Up", "b Up"}
				for i := len(members); i < n; i++ {
					members = append(members, fmt.Sprintf("n%d Up", i))
				}
				for i := n; i < slices.Max(tt.views); i++ {
					members = append(members, fmt.Sprintf("n%d Removed downed", i))
				}
				r.view(members...)
			}
			for _, m := range r.core.view.Members {
				r.report(m.ID)
			}
			r.from(b, protocol.GetShardHomes{Shards: []string{"1"}})
			r.wait(tt.want - time.Millisecond)
			if home := r.home("1"); home != nobody {
				t.Errorf("placed before %v", tt.want)
			}
			r.wait(time.Millisecond)
			if home := r.home("1"); home == nobody {
				t.Errorf("not placed after %v: %v", tt.want, r.core.Why("1"))
			}
		})
	}
}

// What a node hosted that crashed for certain is given out in the step that
// removes it, also by the coordinator that succeeds it, and though views in between were
// skipped.
func TestShardsOfACrashedHostDoNotRest(t *testing.T) {
	r := surveyed(t, Settings{Margin: seconds(5)})
	r.place("1", "2", "3")
	r.view("a Up", "b Up", "c Removed crashed")
	if got := r.home("3"); got == c || got == nobody {
		t.Errorf("after the removal shard 3 is on %q", got.Host)
	}

	r = &rig{t: t, core: New(a, Settings{Agree: "x", Margin: seconds(5)}), now: time.Unix(0, 0)}
	r.view("c Up", "a Up", "b Up")
	r.wait(time.Minute) // it has seen all there was
	r.view("c Down", "a Up", "b Up")
	r.report(a)
	r.report(b)
	r.from(b, protocol.GetShardHomes{Shards: []string{"1"}})
	if got := r.home("1"); got != nobody {
		t.Errorf("placed on %q while the crashed node is still a member", got.Host)
	}
	r.view("c Removed crashed", "a Up", "b Up")
	if got := r.home("1"); got == nobody {
		t.Errorf("not placed after the removal: %v", r.core.Why("1"))
	}
}

// A coordinator that came just after a removal has not seen it, and waits as if
// there had been one; the first node of a cluster has missed none.
func TestCoordinatorWaitsForWhatItHasNotSeen(t *testing.T) {
	for _, tt := range []struct {
		name  string
		views [][]string // a second apart
		want  time.Duration
	}{
		{"the first node", [][]string{{"a Up", "b Up"}}, 0},
		{"the first node before it is Up", [][]string{{"a Joining"}, {"a Up", "b Up"}}, 0},
		{"it came lately", [][]string{{"b Up", "a Up"}, {"b Leaving", "a Up"}}, 4 * time.Second},
		{"it was Up before it joined the type", [][]string{{"b Leaving", "a Up"}}, 5 * time.Second},
		{"it has watched long enough", [][]string{
			{"b Up", "a Up"}, {"b Up", "a Up"}, {"b Up", "a Up"}, {"b Up", "a Up"}, {"b Up", "a Up"}, {"b Leaving", "a Up"},
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &rig{t: t, core: New(a, Settings{Agree: "x", Margin: seconds(5)}), now: time.Unix(0, 0)}
			for i, v := range tt.views {
				if i > 0 {
					r.wait(time.Second)
				}
				r.view(v...)
			}
			r.report(a)
			r.report(b)
			r.from(b, protocol.GetShardHomes{Shards: []string{"1"}})
			if tt.want > 0 {
				r.wait(tt.want - time.Millisecond)
				if home := r.home("1"); home != nobody {
					t.Errorf("placed before %v", tt.want)
				}
				if why := r.core.Why("1"); len(why) != 1 || why[0].Until != r.now.Add(time.Millisecond) {
					t.Errorf("why: %v", why)
				}
				r.wait(250 * time.Millisecond)
			}
			if home := r.home("1"); home == nobody {
				t.Errorf("not placed after %v: %v", tt.want, r.core.Why("1"))
			}
		})
	}
}
