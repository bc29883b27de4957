package manage

import (
	"slices"
	"strconv"

	"github.com/troupe-go/troupe/internal/member"
)

// Namer knows how addresses are shown: scheme://cluster@host:port. A
// troupe.Node is one.
type Namer interface {
	Name() string   // of the cluster
	Scheme() string // of addresses
}

// Member is one member as tools read it.
type Member struct {
	Node    string   `json:"node"`    // its address as a URI
	NodeUID string   `json:"nodeUid"` // its incarnation: a string, because JSON numbers lose 64-bit integers
	Status  string   `json:"status"`  // such as "Up" or "WeaklyUp"
	Roles   []string `json:"roles"`   // sorted; "dc-NAME" is the role of its data center
}

// Unreachable is a member that somebody cannot reach.
type Unreachable struct {
	Node       string   `json:"node"`
	ObservedBy []string `json:"observedBy"` // sorted by address
}

// Members is a cluster as one node sees it.
type Members struct {
	SelfNode    string        `json:"selfNode"`
	Members     []Member      `json:"members"`     // by host, port and incarnation; empty before joining
	Unreachable []Unreachable `json:"unreachable"` // in the same order
	Leader      string        `json:"leader,omitempty"`
	// Oldest is the oldest Up member of this node's data center, the home of
	// singletons; OldestPerRole is the same among the members with a role.
	Oldest        string            `json:"oldest,omitempty"`
	OldestPerRole map[string]string `json:"oldestPerRole"`
}

// MembersOf makes the document from one view of the membership.
func MembersOf(n Namer, v *member.View) Members {
	uri := uriOf(n)
	doc := Members{
		SelfNode:      uri(v.Self.Address),
		Members:       make([]Member, 0, len(v.Members)),
		Unreachable:   make([]Unreachable, 0, len(v.Unreachable)),
		OldestPerRole: oldestPerRole(v, uri),
	}
	for _, m := range v.Members {
		doc.Members = append(doc.Members, memberOf(m, uri))
	}
	for _, id := range v.Unreachable {
		doc.Unreachable = append(doc.Unreachable, Unreachable{Node: uri(id.Address), ObservedBy: observers(v, id, uri)})
	}
	if !v.Leader.IsZero() {
		doc.Leader = uri(v.Leader.Address)
	}
	if m, ok := v.Oldest("", member.Up); ok {
		doc.Oldest = uri(m.Address)
	}
	return doc
}

func uriOf(n Namer) func(member.Address) string {
	scheme, cluster := n.Scheme(), n.Name()
	return func(a member.Address) string { return a.URI(scheme, cluster) }
}

func memberOf(m member.Member, uri func(member.Address) string) Member {
	return Member{
		Node:    uri(m.Address),
		NodeUID: strconv.FormatInt(m.UID, 10),
		Status:  m.Status.String(),
		Roles:   rolesOf(m),
	}
}

// rolesOf includes the data center, which is a role like any other to tools.
func rolesOf(m member.Member) []string {
	roles := append(slices.Clone(m.Roles), "dc-"+m.DataCenter)
	slices.Sort(roles)
	return slices.Compact(roles)
}

func observers(v *member.View, subject member.ID, uri func(member.Address) string) []string {
	var ids []member.ID
	for _, o := range v.Observations {
		if o.Subject == subject {
			ids = append(ids, o.Observer)
		}
	}
	slices.SortFunc(ids, member.ID.Compare)
	by := make([]string, 0, len(ids))
	for _, id := range slices.Compact(ids) {
		by = append(by, uri(id.Address))
	}
	return by
}

func oldestPerRole(v *member.View, uri func(member.Address) string) map[string]string {
	up := slices.DeleteFunc(slices.Clone(v.Members), func(m member.Member) bool {
		return m.Status != member.Up || m.DataCenter != v.DataCenter
	})
	slices.SortFunc(up, member.Member.CompareAge)
	oldest := make(map[string]string)
	for _, m := range slices.Backward(up) { // the oldest is written last
		for _, role := range rolesOf(m) {
			oldest[role] = uri(m.Address)
		}
	}
	return oldest
}

// find looks a member up by what a caller wrote: the whole URI, or without the
// scheme. Host spellings are normalised, as they are everywhere.
func find(n Namer, v *member.View, written string) (member.Member, bool) {
	a, ok := parseNode(n, written)
	if !ok {
		return member.Member{}, false
	}
	return v.At(a)
}
