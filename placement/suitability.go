package placement

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/member"
)

// A candidate is a region together with what its member tells about it.
type candidate struct {
	Region
	status  member.Status
	version Version
}

// candidates are the regions on known members, in the order of s.Regions.
func (s State) candidates() iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		var version Version // of the one before: most have the same
		for _, r := range s.Regions {
			m, ok := s.member(r.ID)
			if !ok {
				continue
			}
			if m.AppVersion != version.text {
				version = versionOf(m.AppVersion)
			}
			if !yield(candidate{Region: r, status: m.Status, version: version}) {
				return
			}
		}
	}
}

// compare orders candidates by suitability, the best first: those that stay
// before those on their way out, then the newest version, then the fewest
// shards. Two different statuses on the same side of the first line are equal
// whatever else, as in the JVM's sharding: that is no strict weak order, so the
// answers depend on a stable sort and on taking the first minimum.
func (c candidate) compare(o candidate) int {
	if c.status != o.status {
		switch going, other := c.going(), o.going(); {
		case going == other:
			return 0
		case going:
			return 1
		default:
			return -1
		}
	}
	return cmp.Or(o.version.Compare(c.version), cmp.Compare(len(c.Shards), len(o.Shards)))
}

func (c candidate) going() bool { return going(c.status) }

func going(s member.Status) bool {
	return s == member.Leaving || s == member.Exiting || s == member.Down
}

// ranked are the candidates, the most suitable first.
func (s State) ranked() []candidate {
	cs := slices.Collect(s.candidates())
	slices.SortStableFunc(cs, candidate.compare)
	return cs
}

// mostSuitable is the first minimum in the order of s.Regions.
func (s State) mostSuitable() (id member.ID, ok bool) {
	var best candidate
	for c := range s.candidates() {
		if !ok || c.compare(best) < 0 {
			best, ok = c, true
		}
	}
	return best.ID, ok
}

// Hold tells in words why this is no time to rebalance, or nothing when it is
// one. What is moved while versions are mixed or while members are joining would
// soon be moved again; and see [State.stuck].
func (s State) Hold() string {
	var first candidate
	for c := range s.candidates() {
		if first.ID.IsZero() {
			first = c
		}
		if !s.Impatient && c.version.Compare(first.version) != 0 {
			return fmt.Sprintf("a rolling update is on: %s and %s run different versions", first.ID, c.ID)
		}
	}
	if first.ID.IsZero() {
		return "there is no region on a known member"
	}
	for _, m := range s.Members {
		if m.DataCenter == s.DataCenter && (m.Status == member.Joining || m.Status == member.WeaklyUp) {
			return fmt.Sprintf("%s is %s", m.ID, m.Status)
		}
	}
	return s.stuck()
}

// stuck tells why a move would not get on now, or nothing: it needs every
// region to answer.
func (s State) stuck() string {
	for _, m := range s.Members {
		if m.DataCenter == s.DataCenter && slices.Contains(s.Unreachable, m.ID) {
			return fmt.Sprintf("%s is unreachable", m.ID)
		}
	}
	return ""
}

// Describe lists the regions from the most to the least suitable, one a line,
// and what holds rebalancing up, for people who wonder why a shard went where
// it did.
func (s State) Describe() string {
	var b strings.Builder
	for _, c := range s.ranked() {
		fmt.Fprintf(&b, "%s: %s, version %q, %d shards\n", c.ID, c.status, c.version, len(c.Shards))
	}
	for _, r := range s.Regions {
		if _, ok := s.member(r.ID); !ok {
			fmt.Fprintf(&b, "%s: not a member, passed over\n", r.ID)
		}
	}
	if hold := s.Hold(); hold != "" {
		fmt.Fprintf(&b, "no rebalance now: %s\n", hold)
	}
	return b.String()
}
