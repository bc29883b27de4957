package sbr

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// observe learns what has changed from the last view to the next, in the order
// in which members live: removals first, then statuses, then reachability.
func (r *Resolver) observe(now time.Time, v *member.View) {
	old := r.view
	r.view = v
	if !same(old.Members, v.Members) {
		r.observeMembers(now, old, v)
	}
	if !same(old.Unreachable, v.Unreachable) {
		r.learn(now, Unreachable{Members: members(v, subtract(v.Unreachable, old.Unreachable))})
		r.learn(now, Reachable{Members: members(v, subtract(old.Unreachable, v.Unreachable))})
	}
	r.learn(now, LeaderChanged{Leader: v.Leader})
	r.learn(now, Reachability{Observations: v.Observations})
	r.learn(now, Seen{By: v.SeenBy})
}

func (r *Resolver) observeMembers(now time.Time, old, v *member.View) {
	for _, m := range old.Members {
		if _, ok := v.Member(m.ID); !ok {
			r.learn(now, Removed{Members: []member.Member{m}})
		}
	}
	for _, m := range v.Members {
		if was, _ := old.Member(m.ID); was.Status != m.Status || was.UpNumber != m.UpNumber {
			r.learn(now, Changed{Members: []member.Member{m}})
		}
	}
}

// same tells whether two lists are the very same one, as they are between most
// views: who has seen a membership changes much more often than the members.
func same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// members are the entries of those ids that are members.
func members(v *member.View, ids []member.ID) []member.Member {
	var ms []member.Member
	for _, id := range ids {
		if m, ok := v.Member(id); ok {
			ms = append(ms, m)
		}
	}
	return ms
}
