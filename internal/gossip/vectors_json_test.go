package gossip

import (
	"cmp"
	"slices"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

// How the known answers write nodes, members and states.

// jsonNodes maps the short names of a case to identities and back.
type jsonNodes map[string]struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	UID  int64  `json:"uid"`
}

func (n jsonNodes) id(name string) member.ID {
	node, ok := n[name]
	if !ok { // the reachability kinds name no nodes: any name will do
		node.Host = name
	}
	return member.ID{Address: member.Address{Host: node.Host, Port: node.Port}, UID: node.UID}
}

func (n jsonNodes) ids(names []string) []member.ID {
	all := []member.ID{}
	for _, name := range names {
		all = append(all, n.id(name))
	}
	return all
}

func (n jsonNodes) name(id member.ID) string {
	for name := range n {
		if n.id(name) == id {
			return name
		}
	}
	return id.Host
}

// names keeps the order.
func (n jsonNodes) names(ids []member.ID) []string {
	all := []string{}
	for _, id := range ids {
		all = append(all, n.name(id))
	}
	return all
}

func (n jsonNodes) sorted(ids []member.ID) []string {
	all := n.names(ids)
	slices.Sort(all)
	return all
}

type jsonMember struct {
	Node       string   `json:"node"`
	Status     string   `json:"status"`
	UpNumber   int      `json:"up_number"`
	DataCenter string   `json:"dc"`
	Roles      []string `json:"roles"`
}

func (n jsonNodes) member(t *testing.T, m jsonMember) member.Member {
	t.Helper()
	status, ok := member.ParseStatus(m.Status)
	if !ok {
		t.Fatalf("unknown status %q", m.Status)
	}
	roles := slices.Clone(m.Roles)
	slices.Sort(roles)
	return member.Member{ID: n.id(m.Node), Status: status, UpNumber: m.UpNumber, Roles: roles, DataCenter: m.DataCenter}
}

func (n jsonNodes) members(t *testing.T, in []jsonMember) []member.Member {
	t.Helper()
	var all []member.Member
	for _, m := range in {
		all = append(all, n.member(t, m))
	}
	return all
}

type jsonRecord struct {
	Observer string `json:"observer"`
	Subject  string `json:"subject"`
	Status   string `json:"status"`
	Version  uint64 `json:"version"`
}

type jsonTable struct {
	Records  []jsonRecord      `json:"records"`
	Versions map[string]uint64 `json:"versions"`
}

var reachabilities = []string{Reachable: "Reachable", Unreachable: "Unreachable", Terminated: "Terminated"}

func (n jsonNodes) table(in jsonTable) Table {
	var t Table
	for name, version := range in.Versions {
		t.rows = append(t.rows, row{observer: n.id(name), version: version})
	}
	slices.SortFunc(t.rows, func(a, b row) int { return a.observer.Compare(b.observer) })
	for _, r := range in.Records {
		i, _ := t.find(n.id(r.Observer))
		status := Reachability(slices.Index(reachabilities, r.Status))
		t.rows[i].records = append(t.rows[i].records, record{n.id(r.Subject), status, r.Version})
	}
	for _, r := range t.rows {
		slices.SortFunc(r.records, func(a, b record) int { return a.subject.Compare(b.subject) })
	}
	return t
}

func (n jsonNodes) jsonTable(t Table) jsonTable {
	out := jsonTable{Versions: map[string]uint64{}}
	for _, r := range t.rows {
		out.Versions[n.name(r.observer)] = r.version
		for _, rec := range r.records {
			out.Records = append(out.Records, jsonRecord{n.name(r.observer), n.name(rec.subject), reachabilities[rec.status], rec.version})
		}
	}
	slices.SortFunc(out.Records, func(a, b jsonRecord) int {
		return cmp.Or(cmp.Compare(a.Observer, b.Observer), cmp.Compare(a.Subject, b.Subject))
	})
	return out
}

type jsonGossip struct {
	Members    []jsonMember      `json:"members"`
	Seen       []string          `json:"seen"`
	Table      jsonTable         `json:"reachability"`
	Version    map[string]uint64 `json:"version"`
	Tombstones map[string]int64  `json:"tombstones"`
}

func (n jsonNodes) state(t *testing.T, in jsonGossip) *State {
	t.Helper()
	s := &State{Members: n.members(t, in.Members), Seen: setOf(n.ids(in.Seen)), Table: n.table(in.Table)}
	slices.SortFunc(s.Members, func(a, b member.Member) int { return a.ID.Compare(b.ID) })
	for name, count := range in.Version {
		s.Version = append(s.Version, Count{n.id(name), count})
	}
	slices.SortFunc(s.Version, func(a, b Count) int { return a.Node.Compare(b.Node) })
	for name, at := range in.Tombstones {
		s.Tombstones = bury(s.Tombstones, Tombstone{Node: n.id(name), Removed: at})
	}
	return s
}

func (n jsonNodes) jsonGossip(s *State) jsonGossip {
	out := jsonGossip{
		Members: []jsonMember{}, Seen: n.sorted(s.Seen), Table: n.jsonTable(s.Table),
		Version: map[string]uint64{}, Tombstones: map[string]int64{},
	}
	for _, m := range s.Members {
		out.Members = append(out.Members, jsonMember{n.name(m.ID), m.Status.String(), m.UpNumber, m.DataCenter, append([]string{}, m.Roles...)})
	}
	for _, c := range s.Version {
		out.Version[n.name(c.Node)] = c.N
	}
	for _, stone := range s.Tombstones {
		out.Tombstones[n.name(stone.Node)] = stone.Removed
	}
	return out
}

// same compares by the printed form, in which maps are sorted and nil is empty.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := text(got), text(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

type jsonPlace struct {
	Nodes  jsonNodes  `json:"nodes"`
	Gossip jsonGossip `json:"gossip"`
	Self   string     `json:"self"`
	SelfDC string     `json:"self_dc"`
}

func (in jsonPlace) perspective(t *testing.T) Perspective {
	t.Helper()
	p := Perspective{State: in.Nodes.state(t, in.Gossip), Self: in.Nodes.id(in.Self), DataCenter: in.SelfDC}
	if m, ok := p.Member(p.Self); ok && p.DataCenter == "" {
		p.DataCenter = m.DataCenter
	}
	return p
}
