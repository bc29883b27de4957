package sbr

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// What is counted along is what counting anew gives, whatever a node hears.
func TestUnreachedIsCountedAlong(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	statuses := []member.Status{member.Joining, member.WeaklyUp, member.Up, member.Leaving, member.Exiting, member.Down}
	draw := func() []member.Member {
		id := member.ID{Address: member.Address{Host: string('a' + rune(rng.IntN(8))), Port: 1}, UID: 1}
		return []member.Member{{ID: id, Status: statuses[rng.IntN(len(statuses))]}}
	}
	self := draw()[0].ID
	for range 200 {
		r := NewResolver(self, "", Settings{})
		for range 60 {
			switch rng.IntN(5) {
			case 0:
				r.Step(time.Unix(0, 0), Removed{Members: draw()})
			case 1, 2:
				r.Step(time.Unix(0, 0), Unreachable{Members: draw()})
			case 3:
				r.Step(time.Unix(0, 0), Reachable{Members: draw()})
			default:
				r.Step(time.Unix(0, 0), Changed{Members: draw()})
			}
			unsettled := 0
			var missed []member.ID
			for _, m := range r.members {
				if !contains(r.unreachable, m.ID) {
					continue
				}
				if m.Status == member.Up || m.Status == member.Leaving {
					unsettled++
				}
				if downable(m) {
					missed = append(missed, m.ID)
				}
			}
			if r.unreached.unsettled != unsettled || r.unreached.downable != len(missed) || !slices.Equal(r.missed(), missed) {
				t.Fatalf("counted %+v, missed %v, but %d are unsettled, and missed are %v", r.unreached, r.missed(), unsettled, missed)
			}
			said := sorted([]member.ID{draw()[0].ID, draw()[0].ID, draw()[0].ID})
			if got, want := covers(said, missed), len(subtract(missed, said)) == 0; got != want {
				t.Fatalf("%v covers %v: %v, want %v", said, missed, got, want)
			}
		}
	}
}
