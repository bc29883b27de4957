package manage

import (
	"github.com/troupe-go/troupe/internal/member"
)

// SeedNodes tells a node that looks for its cluster through whom it can join.
type SeedNodes struct {
	SelfNode  string     `json:"selfNode"`
	SeedNodes []SeedNode `json:"seedNodes"` // at most five; empty before this node has joined
}

// SeedNode is one member. Its UID is a number here, unlike in [Member]: that is
// what tools read.
type SeedNode struct {
	Node    string   `json:"node"`
	NodeUID int64    `json:"nodeUid"`
	Status  string   `json:"status"`
	Roles   []string `json:"roles"`
}

const maxSeedNodes = 5

// SeedNodesOf lists reachable members that are Up, WeaklyUp or Joining, this
// node first: it has just shown that it answers.
func SeedNodesOf(n Namer, v *member.View) SeedNodes {
	uri := uriOf(n)
	doc := SeedNodes{SelfNode: uri(v.Self.Address), SeedNodes: []SeedNode{}}
	add := func(m member.Member) {
		switch m.Status {
		case member.Up, member.WeaklyUp, member.Joining:
			if len(doc.SeedNodes) < maxSeedNodes && v.Reachable(m.ID) {
				doc.SeedNodes = append(doc.SeedNodes, SeedNode{Node: uri(m.Address), NodeUID: m.UID, Status: m.Status.String(), Roles: rolesOf(m)})
			}
		default:
		}
	}
	if self, ok := v.SelfMember(); ok {
		add(self)
	}
	for _, m := range v.Members {
		if m.ID != v.Self {
			add(m)
		}
	}
	return doc
}
