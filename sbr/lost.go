package sbr

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// situation is what the strategy decides by: all that is known, but for what
// was said by nodes that this side has lost touch with since.
func (r *Resolver) situation() Situation {
	current := r.current()
	return Situation{
		Self:         r.self,
		Members:      slices.Clone(r.members),
		Unreachable:  r.accused(current),
		Observations: current,
		SeenBy:       r.seen,
		Wary:         true,
	}
}

// accused are the unreachable without those that only the lost hold for it,
// and that have seen the membership: they are here. A cluster of a hundred has
// always somebody who is suspected by mistake, and if the partition comes
// before that is taken back, it never will be.
func (r *Resolver) accused(current []member.Observation) []member.ID {
	_, before := ends(r.observations)
	_, still := ends(current)
	here := intersect(subtract(before, still), sorted(r.seen))
	return slices.DeleteFunc(slices.Clone(r.unreachable), func(id member.ID) bool {
		i, _ := r.find(id)
		return contains(here, id) && r.members[i].Status != member.Down
	})
}

// current are the observations without those of nodes that this side has lost
// touch with: unreachable ones that have not seen the membership. They are from
// before the partition and cannot be taken back. In a cluster of three whose
// last news is that the other two do not reach each other, a node that gets
// isolated then would hold both for indirectly connected, down them, and
// survive beside them.
func (r *Resolver) current() []member.Observation {
	seen := sorted(r.seen)
	if !contains(seen, r.self) {
		return r.observations // nobody tells who has seen what
	}
	return slices.DeleteFunc(slices.Clone(r.observations), func(o member.Observation) bool {
		return contains(r.unreachable, o.Observer) && !contains(seen, o.Observer)
	})
}
