package sbr

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/vectortest"
)

func TestVectorsSBR(t *testing.T) {
	vectortest.Run(t, "sbr", map[string]vectortest.Check{
		"decide":        vectortest.Kind(checkDecide),
		"member_filter": vectortest.Kind(checkFilter),
		"downs_for":     vectortest.Kind(checkDownsFor),
		"resolver":      vectortest.Kind(checkResolver),
	})
}

// nodes gives the identities behind the short names of a case.
type nodes map[string]member.ID

func (n nodes) ids(t *testing.T, names []string) []member.ID {
	t.Helper()
	var ids []member.ID
	for _, name := range names {
		ids = append(ids, n.id(t, name))
	}
	return ids
}

func (n nodes) id(t *testing.T, name string) member.ID {
	t.Helper()
	id, ok := n[name]
	if !ok {
		t.Fatalf("unknown node %q", name)
	}
	return id
}

// names are the short names of ids, in order.
func (n nodes) names(ids []member.ID) []string {
	names := []string{}
	for name, id := range n {
		if slices.Contains(ids, id) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

type strategyInput struct {
	Name                   string  `json:"name"`
	Role                   *string `json:"role"`
	QuorumSize             int     `json:"quorum_size"`
	DownIfAlone            bool    `json:"down_if_alone"`
	AcquireDelayForMinorMS int     `json:"acquire_delay_for_minority_ms"`
}

func (s strategyInput) role() string {
	if s.Role == nil {
		return ""
	}
	return *s.Role
}

func (s strategyInput) build(t *testing.T) Strategy {
	t.Helper()
	switch s.Name {
	case "keep_majority":
		return KeepMajority{Role: s.role()}
	case "static_quorum":
		return StaticQuorum{Role: s.role(), Size: s.QuorumSize}
	case "keep_oldest":
		return KeepOldest{Role: s.role(), DownIfAlone: s.DownIfAlone}
	case "down_all":
		return DownAll{}
	case "lease_majority":
		return LeaseMajority{Role: s.role(), AcquireDelay: milliseconds(s.AcquireDelayForMinorMS)}
	}
	t.Fatalf("unknown strategy %q", s.Name)
	return nil
}

type memberInput struct {
	Node     string   `json:"node"`
	Status   string   `json:"status"`
	UpNumber int      `json:"up_number"`
	Roles    []string `json:"roles"`
	DC       string   `json:"dc"`
}

func (n nodes) members(t *testing.T, in []memberInput) []member.Member {
	t.Helper()
	var members []member.Member
	for _, m := range in {
		status, ok := member.ParseStatus(m.Status)
		if !ok {
			t.Fatalf("unknown status %q", m.Status)
		}
		members = append(members, member.Member{
			ID: n.id(t, m.Node), Status: status, UpNumber: m.UpNumber, Roles: m.Roles, DataCenter: m.DC,
		})
	}
	return members
}

func (n nodes) observations(t *testing.T, pairs [][2]string) []member.Observation {
	t.Helper()
	var observations []member.Observation
	for _, p := range pairs {
		observations = append(observations, member.Observation{Observer: n.id(t, p[0]), Subject: n.id(t, p[1])})
	}
	return observations
}

type situationInput struct {
	Nodes        nodes         `json:"nodes"`
	Self         string        `json:"self"`
	Strategy     strategyInput `json:"strategy"`
	Members      []memberInput `json:"members"`
	Unreachable  []string      `json:"unreachable"`
	Observations [][2]string   `json:"observations"`
	SeenBy       []string      `json:"seen_by"`
}

func (in situationInput) situation(t *testing.T) Situation {
	t.Helper()
	s := Situation{
		Self:         in.Nodes.id(t, in.Self),
		Members:      in.Nodes.members(t, in.Members),
		Unreachable:  in.Nodes.ids(t, in.Unreachable),
		Observations: in.Nodes.observations(t, in.Observations),
		SeenBy:       in.Nodes.ids(t, in.SeenBy),
	}
	slices.SortFunc(s.Members, func(a, b member.Member) int { return a.ID.Compare(b.ID) })
	return s
}

type decideWant struct {
	Decision            string   `json:"decision"`
	Downs               []string `json:"downs"`
	IndirectlyConnected []string `json:"indirectly_connected"`
	FellBack            bool     `json:"fell_back_to_down_all"`
	AcquireDelayMS      *int     `json:"acquire_delay_ms"`
	ReverseDecision     string   `json:"reverse_decision"`
	ReverseDowns        []string `json:"reverse_downs"`
}

func checkDecide(t *testing.T, in situationInput, want decideWant) {
	d := Decide(in.Strategy.build(t), in.situation(t))
	defer func() {
		if t.Failed() {
			t.Log(d.Describe())
		}
	}()
	if d.Action.String() != want.Decision || d.FellBack != want.FellBack {
		t.Errorf("decided %s, fell back %v, want %s, %v", d.Action, d.FellBack, want.Decision, want.FellBack)
	}
	if got := in.Nodes.names(d.Down); !slices.Equal(got, want.Downs) {
		t.Errorf("downs %v, want %v", got, want.Downs)
	}
	if got := in.Nodes.names(d.IndirectlyConnected); !slices.Equal(got, want.IndirectlyConnected) {
		t.Errorf("indirectly connected %v, want %v", got, want.IndirectlyConnected)
	}
	if d.NeedsLease() != (want.AcquireDelayMS != nil) {
		t.Fatalf("needs a lease: %v", d.NeedsLease())
	}
	if !d.NeedsLease() {
		return
	}
	if d.AcquireDelay != milliseconds(*want.AcquireDelayMS) {
		t.Errorf("acquire delay %v, want %d ms", d.AcquireDelay, *want.AcquireDelayMS)
	}
	denied := d.Denied()
	if got := in.Nodes.names(denied.Down); denied.Action.String() != want.ReverseDecision || !slices.Equal(got, want.ReverseDowns) {
		t.Errorf("denied: %s, downs %v, want %s, %v", denied.Action, got, want.ReverseDecision, want.ReverseDowns)
	}
}

type filterInput struct {
	situationInput
	IncludingJoining bool `json:"including_joining"`
	ExcludingLeaving bool `json:"excluding_leaving"`
}

func checkFilter(t *testing.T, in filterInput, want struct {
	Members     []string `json:"members"`
	Reachable   []string `json:"reachable"`
	Unreachable []string `json:"unreachable"`
	Joining     []string `json:"joining"`
},
) {
	s := newSides(in.situation(t))
	role := in.Strategy.role()
	var all, joining []member.ID
	for _, m := range s.counted(electorate{role: role, joining: in.IncludingJoining, staying: in.ExcludingLeaving}) {
		all = append(all, m.ID)
	}
	for _, m := range s.counted(electorate{joining: true}) {
		if m.Status == member.Joining || m.Status == member.WeaklyUp {
			joining = append(joining, m.ID)
		}
	}
	for _, c := range []struct {
		what string
		got  []member.ID
		want []string
	}{
		{"members", all, want.Members},
		{"reachable", subtract(all, s.Unreachable), want.Reachable},
		{"unreachable", intersect(all, s.Unreachable), want.Unreachable},
		{"joining", joining, want.Joining},
	} {
		if got := in.Nodes.names(c.got); !slices.Equal(got, slices.Sorted(slices.Values(c.want))) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

func checkDownsFor(t *testing.T, in struct {
	situationInput
	Decision string `json:"decision"`
}, want struct {
	Downs []string `json:"downs"`
},
) {
	action := Action(slices.Index(actionNames[:], in.Decision))
	downs, _ := newSides(in.situation(t)).downs(in.Strategy.build(t), action)
	if got := in.Nodes.names(downs); !slices.Equal(got, want.Downs) {
		t.Errorf("%s downs %v, want %v", action, got, want.Downs)
	}
}

type resolverInput struct {
	Nodes                 nodes           `json:"nodes"`
	Self                  string          `json:"self"`
	SelfDC                string          `json:"self_dc"`
	Strategy              strategyInput   `json:"strategy"`
	StableAfterMS         int             `json:"stable_after_ms"`
	DownAllWhenUnstableMS int             `json:"down_all_when_unstable_ms"`
	Events                []resolverEvent `json:"events"`
}

type resolverEvent struct {
	AtMS         int           `json:"at_ms"`
	Op           string        `json:"op"`
	Members      []memberInput `json:"members"`
	Node         *string       `json:"node"`
	Nodes        []string      `json:"nodes"`
	Observations [][2]string   `json:"observations"`
	Acquired     bool          `json:"acquired"`
}

func (e resolverEvent) input(t *testing.T, n nodes) Input {
	t.Helper()
	members := n.members(t, e.Members)
	switch e.Op {
	case "joined", "weakly_up", "up", "left", "exited", "downed":
		return Changed{Members: members}
	case "removed":
		return Removed{Members: members}
	case "unreachable":
		return Unreachable{Members: members}
	case "reachable":
		return Reachable{Members: members}
	case "leader":
		if e.Node == nil {
			return LeaderChanged{}
		}
		return LeaderChanged{Leader: n.id(t, *e.Node)}
	case "reachability":
		return Reachability{Observations: n.observations(t, e.Observations)}
	case "seen":
		return Seen{By: n.ids(t, e.Nodes)}
	case "tick":
		return Tick{}
	case "lease_reply":
		return LeaseReply{Acquired: e.Acquired}
	}
	t.Fatalf("unknown event %q", e.Op)
	return nil
}

type downing struct {
	AtMS  int      `json:"at_ms"`
	Nodes []string `json:"nodes"`
}

func checkResolver(t *testing.T, in resolverInput, want struct {
	Downs []downing `json:"downs"`
},
) {
	settings := Settings{
		Strategy:            in.Strategy.build(t),
		StableAfter:         orNegative(milliseconds(in.StableAfterMS)),
		DownAllWhenUnstable: orNegative(milliseconds(in.DownAllWhenUnstableMS)),
	}
	r := NewResolver(in.Nodes.id(t, in.Self), in.SelfDC, settings)
	start := time.Unix(0, 0)
	var got []downing
	for _, e := range in.Events {
		out := r.Step(start.Add(milliseconds(e.AtMS)), e.input(t, in.Nodes))
		if len(out.Down) > 0 {
			got = append(got, downing{e.AtMS, in.Nodes.names(out.Down)})
		}
	}
	equal := func(a, b downing) bool { return a.AtMS == b.AtMS && slices.Equal(a.Nodes, b.Nodes) }
	if !slices.EqualFunc(got, want.Downs, equal) {
		t.Errorf("downs %v, want %v", got, want.Downs)
	}
}

// orNegative writes the zero of a case, which means at once or off, in the way
// of Settings, where zero is the default.
func orNegative(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }
