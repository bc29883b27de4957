package membership

import (
	"slices"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

// Votes go to all in a small cluster, and to a few that can be reached in a large one.
func TestVotesGoToFew(t *testing.T) {
	node := func(n int) member.ID {
		return member.ID{Address: member.Address{Host: "n", Port: 1000 + n}, UID: 1}
	}
	view := func(size int) *member.View {
		v := &member.View{Self: node(0)}
		for n := range size {
			v.Members = append(v.Members, member.Member{ID: node(n), Status: member.Up, UpNumber: n + 1})
		}
		return v
	}
	span := func(low, high int) (all []member.ID) {
		for n := low; n <= high; n++ {
			all = append(all, node(n))
		}
		return all
	}
	without := func(v *member.View) *member.View {
		v.Members[2].Status = member.Down
		v.Members[3].UpNumber = member.NeverUp
		v.Members[4].DataCenter = "elsewhere"
		v.Unreachable = span(5, 5)
		return v
	}
	tests := []struct {
		name   string
		view   *member.View
		broken []member.ID // links of this node
		want   []member.ID
	}{
		{"a small cluster", view(4), span(1, 1), span(2, 3)},
		{"the largest in which all are told", without(view(countedByAll)), span(1, 1), span(2, countedByAll-1)},
		{"a larger one", view(countedByAll + 1), span(1, 1), span(2, 1+countedBy)},
		{"a larger one, in which some cannot count", without(view(1000)), []member.ID{node(1), node(6)}, span(7, 6+countedBy)},
	}
	for _, tt := range tests {
		k := crashes{self: node(0)}
		for _, id := range tt.broken {
			k.suspects = append(k.suspects, &suspicion{node: id})
		}
		if got := k.counters(tt.view, node(1)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: told %v, want %v", tt.name, got, tt.want)
		}
	}
}
