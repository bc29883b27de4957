package gossip

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

// How the known answers write events.

type jsonEvents struct {
	Removed []struct {
		Type     string `json:"type"`
		Node     string `json:"node"`
		Previous string `json:"previous"`
	} `json:"removed"`
	Member []struct {
		Type string `json:"type"`
		Node string `json:"node"`
	} `json:"member"`
	Unreachable   []string `json:"unreachable"`
	Reachable     []string `json:"reachable"`
	UnreachableDC []string `json:"unreachable_dc"`
	ReachableDC   []string `json:"reachable_dc"`
	Leader        struct {
		Changed bool    `json:"changed"`
		To      *string `json:"to"`
	} `json:"leader"`
	RoleLeaders map[string]*string `json:"role_leaders"`
	Seen        struct {
		Changed   bool `json:"changed"`
		Converged bool `json:"converged"`
	} `json:"seen"`
}

// lines writes the wanted events one a line.
func (w jsonEvents) lines() []string {
	var out []string
	add := func(parts ...string) { out = append(out, strings.Join(parts, " ")) }
	leader := func(to *string) string {
		if to == nil {
			return "nobody"
		}
		return *to
	}
	for _, e := range w.Removed {
		add(e.Type, e.Node, "was", e.Previous)
	}
	for _, e := range w.Member {
		add(e.Type, e.Node)
	}
	for _, n := range w.Unreachable {
		add("unreachable", n)
	}
	for _, n := range w.Reachable {
		add("reachable", n)
	}
	for _, dc := range w.UnreachableDC {
		add("unreachable dc", dc)
	}
	for _, dc := range w.ReachableDC {
		add("reachable dc", dc)
	}
	if w.Leader.Changed {
		add("leader", leader(w.Leader.To))
	}
	for role, to := range w.RoleLeaders {
		add("leader of", role, leader(to))
	}
	if w.Seen.Changed {
		add("seen", text(w.Seen.Converged))
	}
	return out
}

// eventNames are the original's names of what has happened to a member.
var eventNames = map[member.Status]string{
	member.Joining: "Joined", member.Leaving: "Left", member.Exiting: "Exited", member.Down: "Downed",
}

func (n jsonNodes) eventLine(e Event) string {
	leader := func(id member.ID) string {
		if id.IsZero() {
			return "nobody"
		}
		return id.Address.String()
	}
	switch e := e.(type) {
	case MemberRemoved:
		return "Removed " + n.name(e.Member.ID) + " was " + e.Previous.String()
	case MemberChanged:
		return cmp.Or(eventNames[e.Member.Status], e.Member.Status.String()) + " " + n.name(e.Member.ID)
	case UnreachableMember:
		return "unreachable " + n.name(e.Member.ID)
	case ReachableMember:
		return "reachable " + n.name(e.Member.ID)
	case UnreachableDataCenter:
		return "unreachable dc " + e.Name
	case ReachableDataCenter:
		return "reachable dc " + e.Name
	case LeaderChanged:
		return "leader " + leader(e.Leader)
	case RoleLeaderChanged:
		return "leader of " + e.Role + " " + leader(e.Leader)
	case SeenChanged:
		return "seen " + text(e.Converged)
	default:
		return "" // the table is not among the wanted
	}
}

func checkEvents(t *testing.T, in struct {
	Nodes  jsonNodes  `json:"nodes"`
	Old    jsonGossip `json:"old"`
	New    jsonGossip `json:"new"`
	Self   string     `json:"self"`
	SelfDC string     `json:"self_dc"`
}, want jsonEvents,
) {
	look := func(g jsonGossip) Summary {
		return Summarize(Perspective{in.Nodes.state(t, g), in.Nodes.id(in.Self), in.SelfDC})
	}
	var got []string
	member := false
	for _, e := range look(in.New).Diff(look(in.Old)) {
		switch e.(type) {
		case MemberChanged:
			member = true
		case MemberRemoved:
			if member {
				t.Errorf("%v comes after a member event", e)
			}
		}
		if line := in.Nodes.eventLine(e); line != "" {
			got = append(got, line)
		}
	}
	lines := want.lines()
	slices.Sort(got)
	slices.Sort(lines)
	same(t, "events", got, lines)
}
