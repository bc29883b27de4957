package margin

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

var start = time.Unix(0, 0)

func id(n int) member.ID { return member.ID{Address: member.Address{Host: "n", Port: n}, UID: 1} }

// view is of the members with these numbers, as member 1 sees it, whose rank is given.
func view(rank int, members ...int) *member.View {
	v := &member.View{Self: id(1)}
	for _, n := range members {
		m := member.Member{ID: id(n), Status: member.Up, UpNumber: 10 + n}
		if n == 1 {
			m.UpNumber = rank
		}
		v.Members = append(v.Members, m)
	}
	return v
}

// downed adds that these members were removed after they had been downed.
func downed(v *member.View, members ...int) *member.View {
	for _, n := range members {
		v.Departed = append(v.Departed, member.Departure{ID: id(n), End: member.Downed})
	}
	return v
}

func gone(w *Watch) (ids []int) {
	for _, d := range w.Gone() {
		ids = append(ids, d.Port)
	}
	return ids
}

// How a member went says whether it gets a margin, whichever views were looked at.
func TestWhoHasEndedGetsNoMargin(t *testing.T) {
	for end, want := range map[member.End]time.Duration{
		member.Silent: 10 * time.Second, member.Downed: 5 * time.Second, member.Exited: 0, member.Crashed: 0,
	} {
		w := NewWatch(func(int) time.Duration { return 5 * time.Second })
		w.See(start, nil, view(2, 1, 2))
		after := view(2, 1)
		after.Departed = []member.Departure{{ID: id(2), End: end}}
		w.See(start, view(2, 1, 2), after)
		if got := w.Until(id(2)).Sub(start); got != want {
			t.Errorf("end %d: a margin of %v, want %v", end, got, want)
		}
	}
}

func TestSettleLetsGoInOrder(t *testing.T) {
	w := NewWatch(func(members int) time.Duration { return time.Duration(members) * time.Second })
	w.See(start, nil, view(2, 1, 2, 3, 4))
	w.See(start, view(2, 1, 2, 3, 4), downed(view(2, 1, 3, 4), 2))
	w.See(start.Add(time.Second), view(2, 1, 3, 4), downed(view(2, 1, 4), 2, 3)) // one by one: it was a cluster of four for them
	if got, want := gone(&w), []int{2, 3}; !slices.Equal(got, want) {
		t.Fatalf("gone: %v, want %v", got, want)
	}
	for _, tt := range []struct {
		at   time.Duration
		over []int
	}{
		{4*time.Second - 1, nil},
		{4 * time.Second, []int{2}},
		{5*time.Second - 1, nil},
		{5 * time.Second, []int{3}},
	} {
		var over []int
		for _, d := range w.Settle(start.Add(tt.at)) {
			over = append(over, d.Port)
		}
		if !slices.Equal(over, tt.over) {
			t.Errorf("over after %v: %v, want %v", tt.at, over, tt.over)
		}
	}
}

func TestBlindness(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first *member.View
		want  time.Time
	}{
		{"not a member yet", view(2, 2, 3), time.Time{}},
		{"it came later", view(2, 1, 2, 3), start.Add(3 * time.Second)},
		{"the first member of all", view(1, 1, 2, 3), start},
	} {
		w := NewWatch(func(members int) time.Duration { return time.Duration(members) * time.Second })
		w.See(start, nil, tt.first)
		if got := w.BlindUntil(); got != tt.want {
			t.Errorf("%s: blind until %v, want %v", tt.name, got, tt.want)
		}
	}
}
