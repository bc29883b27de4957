package coordinator

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

func TestOldestUpMemberReigns(t *testing.T) {
	for _, tt := range []struct {
		view []string
		term uint64
	}{
		{[]string{"a Up", "b Up"}, 1},
		{[]string{"b Up", "a Up"}, 0},
		{[]string{"b Leaving", "a Up"}, 2}, // the rank of age
		{[]string{"b Exiting", "a Up"}, 2},
		{[]string{"b Down", "a Up"}, 2},
		{[]string{"a Leaving", "b Up"}, 0},
		{[]string{"a WeaklyUp", "b Joining"}, 0},
		{[]string{"b Up"}, 0},
	} {
		r := &rig{t: t, core: New(a, Settings{}), now: time.Unix(0, 0)}
		r.view(tt.view...)
		if got := r.core.Term(); got != tt.term {
			t.Errorf("%v: term %d, want %d", tt.view, got, tt.term)
		}
	}
}

func TestClaimIsRepeatedUntilAnswered(t *testing.T) {
	r := newRig(t, Settings{})
	r.says(b, protocol.Claim{})
	r.report(a)
	r.says(a, protocol.Registered{})
	r.report(b)
	r.step(NoPort{From: c})
	r.tells(Surveyed{Term: 1})
	r.wait(time.Minute)
	for _, id := range []member.ID{a, b, c} {
		r.says(id)
	}
	r.view("a Up", "b Up", "c Up", "d Joining")
	r.says(node("d"), protocol.Claim{})
	r.wait(250 * time.Millisecond)
	r.says(node("d"), protocol.Claim{})
}

func TestRefusedCoordinatorClaimsAHigherTerm(t *testing.T) {
	r := newRig(t, Settings{})
	r.from(b, protocol.Refused{Highest: 7})
	r.tells(Superseded{Term: 1, By: 7}, Reigning{Term: 8})
	r.says(b, protocol.Claim{})
	r.from(b, protocol.Refused{Highest: 7}) // late
	r.tells()
	r.from(c, protocol.Refused{Highest: 9}) // two fight: not as fast as they can
	r.tells(Superseded{Term: 8, By: 9})
	if want := r.now.Add(250 * time.Millisecond); !r.out.Wake.Equal(want) {
		t.Errorf("claims again at %v, want %v", r.out.Wake, want)
	}
	r.wait(250 * time.Millisecond)
	r.tells(Reigning{Term: 10})
}

// Who arrives hears the highest term from everybody, coordinator or not.
func TestEveryNodeTellsTheHighestTerm(t *testing.T) {
	r := newRig(t, Settings{})
	r.from(b, protocol.Refused{Highest: 6}) // claims 7
	r.from(c, protocol.Arriving{})
	r.says(c, protocol.HighestTerm{Term: 7})
	r.view("b Up", "a Up", "c Up")
	r.from(c, protocol.Arriving{})
	r.says(c, protocol.HighestTerm{Term: 7})
}

// A younger coordinator knows better, for nobody becomes Up again: the older one
// does not claim a term before its view has had time to follow.
func TestCoordinatorYieldsToAYoungerOne(t *testing.T) {
	for _, tt := range []struct {
		name string
		word protocol.Message
		then func(*rig)
		want uint64 // the term in the end
	}{
		{"a report", protocol.Report{Term: 2, Coordinator: b}, func(r *rig) { r.wait(4 * time.Second) }, 0},
		{"a refusal", protocol.Refused{Highest: 2, Coordinator: b}, func(r *rig) { r.wait(4 * time.Second) }, 0},
		{"its view does not change", protocol.Refused{Highest: 2, Coordinator: b}, func(r *rig) { r.wait(5 * time.Second) }, 3},
		{"its view changes otherwise", protocol.Refused{Highest: 2, Coordinator: b}, func(r *rig) { r.view("a Up", "b Up") }, 0},
		{"the younger one dies", protocol.Refused{Highest: 2, Coordinator: b}, func(r *rig) { r.view("a Up", "b Down", "c Up") }, 3},
		{"it hears that it leaves", protocol.Refused{Highest: 2, Coordinator: b}, func(r *rig) { r.view("a Leaving", "b Up", "c Up"); r.wait(time.Minute) }, 0},
		{"the other one is not a member here", protocol.Refused{Highest: 2, Coordinator: node("z")}, func(*rig) {}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Settings{Margin: seconds(5)})
			r.from(c, tt.word)
			tt.then(r)
			if got := r.core.Term(); got != tt.want {
				t.Errorf("it reigns in term %d, want %d", got, tt.want)
			}
		})
	}
}
