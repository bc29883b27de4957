package coordinator

import (
	"fmt"
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
