package gossip

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/vectortest"
)

func TestVectorsGossip(t *testing.T) {
	vectortest.Run(t, "gossip", map[string]vectortest.Check{
		"member_order":               vectortest.Kind(checkMemberOrder),
		"node_compare":               vectortest.Kind(checkNodeCompare),
		"age_order":                  vectortest.Kind(checkAgeOrder),
		"leader_status_order":        vectortest.Kind(checkLeaderStatusOrder),
		"pick_member":                vectortest.Kind(checkPickMember),
		"transition":                 vectortest.Kind(checkTransition),
		"convergence":                vectortest.Kind(checkConvergence),
		"leader":                     vectortest.Kind(checkLeader),
		"youngest":                   vectortest.Kind(checkYoungest),
		"oldest_per_dc":              vectortest.Kind(checkOldestPerDC),
		"exiting_targets":            vectortest.Kind(checkExitingTargets),
		"is_reachable":               vectortest.Kind(checkIsReachable),
		"gossip_merge":               vectortest.Kind(checkMerge),
		"gossip_remove":              vectortest.Kind(checkRemove),
		"gossip_mark_down":           vectortest.Kind(checkMarkDown),
		"gossip_update":              vectortest.Kind(checkUpdate),
		"tombstone_prune":            vectortest.Kind(checkTombstonePrune),
		"reachability":               vectortest.Kind(checkReachability),
		"reachability_merge":         vectortest.Kind(checkReachabilityMerge),
		"gossip_targets":             vectortest.Kind(checkTargets),
		"different_view_probability": vectortest.Kind(checkDifferentView),
		"events":                     vectortest.Kind(checkEvents),
	})
}

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
		s.Tombstones = bury(s.Tombstones, n.id(name), at)
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

type jsonMembers struct {
	Nodes   jsonNodes    `json:"nodes"`
	Members []jsonMember `json:"members"`
}

type jsonOrder struct {
	Order []string `json:"order"`
}

func checkMemberOrder(t *testing.T, in jsonMembers, want jsonOrder) {
	s := (&State{}).Update(in.Nodes.members(t, in.Members)...)
	same(t, "order", namesOf(in.Nodes, s.Members), want.Order)
}

func namesOf(n jsonNodes, members []member.Member) []string {
	all := []string{}
	for _, m := range members {
		all = append(all, n.name(m.ID))
	}
	return all
}

func checkNodeCompare(t *testing.T, in struct {
	Nodes jsonNodes `json:"nodes"`
	Left  string    `json:"left"`
	Right string    `json:"right"`
}, want struct {
	Order int `json:"order"`
},
) {
	same(t, in.Left+" to "+in.Right, in.Nodes.id(in.Left).Compare(in.Nodes.id(in.Right)), want.Order)
}

func checkAgeOrder(t *testing.T, in jsonMembers, want struct {
	OldestFirst []string `json:"oldest_first"`
	Error       string   `json:"error"`
},
) {
	sorted, err := member.OldestFirst(in.Nodes.members(t, in.Members))
	if (want.Error == "different_data_centers") != errors.Is(err, member.ErrDifferentDataCenters) {
		t.Errorf("error %v, want %q", err, want.Error)
	}
	if err == nil {
		same(t, "oldest first", namesOf(in.Nodes, sorted), want.OldestFirst)
	}
}

func checkLeaderStatusOrder(t *testing.T, in jsonMembers, want jsonOrder) {
	members := in.Nodes.members(t, in.Members)
	slices.SortFunc(members, func(a, b member.Member) int {
		return cmp.Or(cmp.Compare(leaderRank(a.Status), leaderRank(b.Status)), a.ID.Compare(b.ID))
	})
	same(t, "order", namesOf(in.Nodes, members), want.Order)
}

func checkPickMember(t *testing.T, in struct {
	Nodes jsonNodes  `json:"nodes"`
	Left  jsonMember `json:"left"`
	Right jsonMember `json:"right"`
}, want struct {
	Picked string `json:"picked"`
},
) {
	left, right := in.Nodes.member(t, in.Left), in.Nodes.member(t, in.Right)
	left.AppVersion, right.AppVersion = "left", "right" // to tell them apart
	same(t, "picked", furtherOn(left, right).AppVersion, want.Picked)
}

func checkTransition(t *testing.T, in struct {
	Nodes  jsonNodes  `json:"nodes"`
	Member jsonMember `json:"member"`
	To     string     `json:"to"`
}, want struct {
	Allowed bool `json:"allowed"`
},
) {
	to, ok := member.ParseStatus(in.To)
	if !ok {
		t.Fatalf("unknown status %q", in.To)
	}
	same(t, in.Member.Status+" to "+in.To, Allowed(in.Nodes.member(t, in.Member).Status, to), want.Allowed)
}

func checkConvergence(t *testing.T, in struct {
	jsonPlace
	Confirmed []string `json:"exiting_confirmed"`
}, want struct {
	Converged bool `json:"converged"`
},
) {
	same(t, "converged", in.perspective(t).Converged(setOf(in.Nodes.ids(in.Confirmed))), want.Converged)
}

func checkLeader(t *testing.T, in struct {
	jsonPlace
	Role string `json:"role"`
}, want struct {
	Leader string `json:"leader"`
},
) {
	p := in.perspective(t)
	got := p.RoleLeader(in.Role)
	if in.Role == "" {
		got = p.Leader()
	}
	if got.IsZero() {
		got.Host = "" // JSON null
	}
	same(t, "leader", in.Nodes.name(got), want.Leader)
}

func checkYoungest(t *testing.T, in jsonPlace, want struct {
	Youngest string `json:"youngest"`
},
) {
	same(t, "youngest", in.Nodes.name(in.perspective(t).Youngest()), want.Youngest)
}

func checkOldestPerDC(t *testing.T, in struct {
	jsonPlace
	Connections int `json:"cross_dc_connections"`
}, want struct {
	PerDC map[string][]string `json:"per_dc"`
},
) {
	got := map[string][]string{}
	for dc, oldest := range in.perspective(t).OldestPerDataCenter(in.Connections) {
		got[dc] = in.Nodes.names(oldest)
	}
	same(t, "oldest", got, want.PerDC)
}

func checkExitingTargets(t *testing.T, in struct {
	jsonPlace
	Connections int      `json:"cross_dc_connections"`
	Exiting     []string `json:"exiting"`
}, want struct {
	Targets []string `json:"targets"`
},
) {
	got := in.perspective(t).ExitingTargets(in.Nodes.ids(in.Exiting))
	same(t, "targets", in.Nodes.sorted(got), want.Targets)
}

func checkIsReachable(t *testing.T, in struct {
	jsonPlace
	Queries []struct {
		To   string `json:"to"`
		From string `json:"from"`
	} `json:"queries"`
}, want struct {
	Results []bool `json:"results"`
},
) {
	p := in.perspective(t)
	for i, q := range in.Queries {
		got := p.IsReachable(in.Nodes.id(q.To))
		if q.From != "" {
			got = p.Reaches(in.Nodes.id(q.From), in.Nodes.id(q.To))
		}
		if got != want.Results[i] {
			t.Errorf("query %d %+v: got %v, want %v", i, q, got, want.Results[i])
		}
	}
}

type jsonGossipWant struct {
	Gossip jsonGossip `json:"gossip"`
}

func checkMerge(t *testing.T, in struct {
	Nodes jsonNodes  `json:"nodes"`
	Left  jsonGossip `json:"left"`
	Right jsonGossip `json:"right"`
}, want jsonGossipWant,
) {
	got := in.Nodes.state(t, in.Left).Merge(in.Nodes.state(t, in.Right))
	same(t, "merged", in.Nodes.jsonGossip(got), want.Gossip)
}

func checkRemove(t *testing.T, in struct {
	Nodes  jsonNodes  `json:"nodes"`
	Gossip jsonGossip `json:"gossip"`
	Node   string     `json:"node"`
	At     int64      `json:"at"`
}, want jsonGossipWant,
) {
	got := in.Nodes.state(t, in.Gossip).Remove(in.Nodes.id(in.Node), in.At)
	same(t, "without "+in.Node, in.Nodes.jsonGossip(got), want.Gossip)
}

func checkMarkDown(t *testing.T, in struct {
	Nodes  jsonNodes  `json:"nodes"`
	Gossip jsonGossip `json:"gossip"`
	Node   string     `json:"node"`
}, want jsonGossipWant,
) {
	got := in.Nodes.state(t, in.Gossip).MarkDown(in.Nodes.id(in.Node))
	same(t, "with "+in.Node+" down", in.Nodes.jsonGossip(got), want.Gossip)
}

func checkUpdate(t *testing.T, in struct {
	jsonMembers
	Gossip jsonGossip `json:"gossip"`
}, want jsonGossipWant,
) {
	got := in.Nodes.state(t, in.Gossip).Update(in.Nodes.members(t, in.Members)...)
	same(t, "updated", in.Nodes.jsonGossip(got), want.Gossip)
}

func checkTombstonePrune(t *testing.T, in struct {
	Nodes       jsonNodes  `json:"nodes"`
	Gossip      jsonGossip `json:"gossip"`
	EarlierThan int64      `json:"earlier_than"`
}, want jsonGossipWant,
) {
	got := in.Nodes.state(t, in.Gossip).PruneTombstones(in.EarlierThan)
	same(t, "pruned", in.Nodes.jsonGossip(got), want.Gossip)
}

type jsonTableWant struct {
	Table          jsonTable           `json:"reachability"`
	Changed        []bool              `json:"changed"`
	NodeStatus     map[string]string   `json:"node_status"`
	Unreachable    []string            `json:"all_unreachable"`
	Bad            []string            `json:"all_unreachable_or_terminated"`
	From           map[string][]string `json:"unreachable_from"`
	ObserversOf    map[string][]string `json:"observers_of"`
	AllObservers   []string            `json:"all_observers"`
	NothingIsWrong bool                `json:"no_records"`
}

func checkReachability(t *testing.T, in struct {
	Nodes jsonNodes `json:"nodes"`
	Start jsonTable `json:"start"`
	Ops   []struct {
		Op       string   `json:"op"`
		Observer string   `json:"observer"`
		Subject  string   `json:"subject"`
		Nodes    []string `json:"nodes"`
	} `json:"ops"`
}, want jsonTableWant,
) {
	table := in.Nodes.table(in.Start)
	changed := []bool{}
	for _, op := range in.Ops {
		switch op.Op {
		case "remove":
			table = table.Remove(in.Nodes.ids(op.Nodes)...)
		case "remove_observers":
			table = table.RemoveObservers(in.Nodes.ids(op.Nodes)...)
		default:
			before := table
			status := Reachability(slices.IndexFunc(reachabilities, func(s string) bool { return strings.ToLower(s) == op.Op }))
			table = table.Set(in.Nodes.id(op.Observer), in.Nodes.id(op.Subject), status)
			changed = append(changed, !table.equal(before))
		}
	}
	same(t, "table", in.Nodes.jsonTable(table), want.Table)
	same(t, "changed", changed, want.Changed)
	got := jsonTableWant{
		Table: want.Table, Changed: want.Changed,
		NodeStatus: map[string]string{}, From: map[string][]string{}, ObserversOf: map[string][]string{},
	}
	for name := range want.NodeStatus {
		got.NodeStatus[name] = reachabilities[table.Worst(in.Nodes.id(name))]
		if got.NodeStatus[name] == "Unreachable" {
			got.Unreachable = append(got.Unreachable, name)
		}
	}
	got.Bad = in.Nodes.sorted(table.against(func(member.ID) bool { return true }))
	for _, r := range table.rows {
		observer := in.Nodes.name(r.observer)
		if len(r.records) > 0 {
			got.AllObservers = append(got.AllObservers, observer)
		}
		if from := in.Nodes.sorted(table.From(r.observer)); len(from) > 0 {
			got.From[observer] = from
		}
		for _, rec := range r.records {
			if subject := in.Nodes.name(rec.subject); rec.status == Unreachable {
				got.ObserversOf[subject] = append(got.ObserversOf[subject], observer)
			}
		}
	}
	slices.Sort(got.Unreachable)
	slices.Sort(got.AllObservers)
	for _, observers := range got.ObserversOf {
		slices.Sort(observers)
	}
	got.NothingIsWrong = len(got.AllObservers) == 0
	same(t, "answers", got, want)
}

func checkReachabilityMerge(t *testing.T, in struct {
	Nodes   jsonNodes `json:"nodes"`
	Left    jsonTable `json:"left"`
	Right   jsonTable `json:"right"`
	Allowed []string  `json:"allowed"`
}, want struct {
	Table jsonTable `json:"reachability"`
},
) {
	allowed := setOf(in.Nodes.ids(in.Allowed))
	got := in.Nodes.table(in.Left).Merge(in.Nodes.table(in.Right), allowed.has)
	same(t, "merged", in.Nodes.jsonTable(got), want.Table)
}

func checkTargets(t *testing.T, in struct {
	jsonPlace
	Connections int  `json:"cross_dc_connections"`
	Local       bool `json:"local_dc"`
	Differ      bool `json:"prefer_different_view"`
}, want struct {
	Targets []string `json:"targets"`
},
) {
	p := in.perspective(t)
	got := p.Targets(in.Local, in.Differ, p.otherDataCenters(), in.Connections)
	same(t, "targets", in.Nodes.names(got), want.Targets)
}

func checkDifferentView(t *testing.T, in struct {
	ReduceAt int `json:"reduce_at"`
	Size     int `json:"cluster_size"`
}, want struct {
	P float64 `json:"p"`
},
) {
	got := DifferentViewProbability(float64(in.ReduceAt), in.ReduceAt, in.Size)
	if math.Abs(got-want.P) > 1e-9 {
		t.Errorf("p of %d members from %d on = %v, want %v", in.Size, in.ReduceAt, got, want.P)
	}
}

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
