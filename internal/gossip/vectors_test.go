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
