package gossip

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// joining is how this node gets in.
type joining struct {
	seeds  []member.Address // as configured, self included
	nacked []member.Address // seeds that are no members either
	target member.Address   // who was asked to let this node in; zero while asking seeds
}

// joinSeeds asks the seeds, all but self, whether they know a cluster.
func (m *Machine) joinSeeds(seeds []member.Address) {
	if m.phase == joined || len(seeds) == 0 {
		return
	}
	m.join = joining{seeds: slices.Clone(seeds)}
	m.limitAttempts()
	if len(m.otherSeeds()) == 0 {
		m.found()
		return
	}
	m.ask()
}

// joinAddress joins through one member, or founds a cluster.
func (m *Machine) joinAddress(a member.Address) {
	if m.phase == joined {
		return
	}
	m.join = joining{}
	m.limitAttempts()
	if a == m.cfg.Self.Address {
		m.found()
		return
	}
	m.joinThrough(a)
}

func (m *Machine) limitAttempts() {
	if m.cfg.Times.GiveUp > 0 && m.phase == idle {
		m.timers.set(giveUpTimer, m.now.Add(m.cfg.Times.GiveUp))
	}
}

func (m *Machine) giveUp() {
	m.stop(JoinTimedOut, "no seed of %v let this node into cluster %q within %v: see whether they run, or allow more time",
		m.join.seeds, m.cfg.Cluster, m.cfg.Times.GiveUp)
}

func (m *Machine) otherSeeds() []member.Address {
	return slices.DeleteFunc(slices.Clone(m.join.seeds), func(a member.Address) bool { return a == m.cfg.Self.Address })
}

// mayFound: only the first seed founds a cluster, so that not each node founds
// its own.
func (m *Machine) mayFound() bool { return m.join.seeds[0] == m.cfg.Self.Address }

// ask starts a round of questions.
func (m *Machine) ask() {
	m.phase = asking
	m.join.target = member.Address{}
	m.join.nacked = nil
	m.timers.set(phaseTimer, m.now.Add(m.cfg.Times.SeedTimeout))
	m.askAgain()
}

// askAgain repeats the current question.
func (m *Machine) askAgain() {
	m.timers.set(askTimer, m.now.Add(m.cfg.Times.JoinRetry))
	if m.phase == waiting {
		m.send(member.ID{Address: m.join.target}, Join{
			Cluster: m.cfg.Cluster, Node: m.cfg.Self, Roles: m.cfg.Roles,
			DataCenter: m.cfg.DataCenter, AppVersion: m.cfg.AppVersion,
		})
		return
	}
	for _, a := range m.otherSeeds() {
		m.send(member.ID{Address: a}, InitJoin{Cluster: m.cfg.Cluster, Config: m.cfg.ConfigCheck})
	}
}

// phaseOver ends asking or waiting that led nowhere.
func (m *Machine) phaseOver() {
	switch {
	case m.phase == asking && m.mayFound():
		m.found()
	case len(m.join.seeds) > 0:
		m.ask()
	default:
		m.joinThrough(m.join.target)
	}
}

// joinThrough asks a member to let this node in.
func (m *Machine) joinThrough(a member.Address) {
	m.phase = waiting
	m.join.target = a
	m.timers.set(phaseTimer, m.now.Add(m.cfg.Times.JoinTimeout))
	m.askAgain()
}

// found makes a cluster of one. The leader duties run at once, so that the
// founder is the oldest member whoever joins next.
func (m *Machine) found() {
	s := (&State{}).Update(m.newMember(m.cfg.Self, m.cfg.Roles, m.cfg.DataCenter, m.cfg.AppVersion))
	m.enter(&State{})
	m.change(s)
	m.leaderDuties()
}

func (m *Machine) newMember(id member.ID, roles []string, dc, version string) member.Member {
	roles = slices.Clone(roles)
	slices.Sort(roles)
	return member.Member{
		ID: id, Status: member.Joining, UpNumber: member.NeverUp,
		Roles: slices.Compact(roles), DataCenter: dc, AppVersion: version,
	}
}

func (m *Machine) initJoinNack(from member.ID, msg InitJoinNack) {
	if m.phase != asking || m.wrongCluster(from, msg.Cluster) {
		return
	}
	if slices.Contains(m.otherSeeds(), from.Address) && !slices.Contains(m.join.nacked, from.Address) {
		m.join.nacked = append(m.join.nacked, from.Address)
	}
	// When no other seed has a cluster this one may found it. It waits for one
	// more round of questions: if all seeds were restarted together, the members
	// that are left invite them, and a second cluster must not come first.
	if grace := m.now.Add(m.cfg.Times.JoinRetry); m.mayFound() &&
		len(m.join.nacked) == len(m.otherSeeds()) && grace.Before(m.timers[phaseTimer]) {
		m.timers.set(phaseTimer, grace)
	}
}

func (m *Machine) initJoinAck(from member.ID, msg InitJoinAck) {
	switch {
	case m.wrongCluster(from, msg.Cluster):
	case m.phase == joined && msg.Invitation && !m.state.Has(from):
		m.notes = append(m.notes, OtherCluster{from})
	case m.phase != asking:
		m.ignore(from, Late, "answer of a seed")
	default:
		text := m.differences(msg.Config)
		if text == "" && msg.Check == Incompatible {
			text = "see its log"
		}
		if text != "" && !m.cfg.JoinAnyway {
			m.stop(IncompatibleConfig, "the configuration differs from that of %v: %s", from, text)
			return
		}
		m.joinThrough(from.Address)
	}
}

func (m *Machine) wrongCluster(from member.ID, name string) bool {
	if name == m.cfg.Cluster {
		return false
	}
	m.ignore(from, WrongCluster, "a node of cluster %.255q talks to cluster %q", name, m.cfg.Cluster)
	return true
}

// welcome makes this node a member.
func (m *Machine) welcome(from member.ID, msg Welcome) {
	switch {
	case m.wrongCluster(from, msg.Cluster):
		return
	case m.phase != waiting || from.Address != m.join.target:
		m.ignore(from, Late, "welcome")
		return
	case msg.To != m.cfg.Self:
		m.ignore(from, OtherSelf, "welcome")
		return
	}
	s, err := msg.Gossip.unpack()
	switch {
	case err != nil:
		m.ignore(from, Malformed, "welcome: %v", err)
		return
	case !s.Has(m.cfg.Self) || !s.Has(from):
		m.ignore(from, WithoutSelf, "welcome")
		return
	}
	m.enter(s)
	m.state = m.saw(s)
	m.sendState(from)
}
