package gossip

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// joining is how this node gets in.
type joining struct {
	way    way
	seeds  []seed           // self is not among them
	first  bool             // by seeds: this node is the first of them, and may found
	target member.Address   // who was asked to let this node in; zero while asking seeds
	id     member.ClusterID // of the target's cluster
	only   member.ClusterID // the one to join; zero for any

	closing bool // the target's cluster shuts down, it says

	// Of those who found together: see contacts.go.
	required int
	agreed   time.Time // since when this node is the one to found; zero: it is not
}

// way tells who may found a cluster.
type way uint8

const (
	byAddress  way = iota // nobody else: one node was named
	bySeeds               // the first seed
	byContacts            // the one on whom all agree
)

// seed is a node that may know the cluster, and what it said last.
type seed struct {
	member.Address
	listed bool           // by this node's own configuration
	nacked time.Time      // when it was no member
	choice member.Address // whom it would let found then; zero: nobody
	refuse string         // why it wants no link; empty: it has not said so
}

// maxSeeds bounds how many are asked.
const maxSeeds = 1024

// joinSeeds asks the seeds, all but self, whether they know a cluster.
func (m *Machine) joinSeeds(seeds []member.Address) {
	if m.phase == joined || len(seeds) == 0 {
		return
	}
	m.join = joining{way: bySeeds, first: seeds[0] == m.cfg.Self.Address}
	m.listSeeds(seeds)
	m.limitAttempts()
	if len(m.join.seeds) == 0 {
		m.found(m.newClusterID(), 0)
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
		m.found(m.newClusterID(), 0)
		return
	}
	m.joinThrough(a, 0)
}

// listSeeds replaces the seeds that are listed; what was heard of the others
// stays, and so do those who have made themselves known.
func (m *Machine) listSeeds(addresses []member.Address) {
	old := m.join.seeds
	m.join.seeds = nil
	add := func(s seed) {
		if s.Address != m.cfg.Self.Address && len(m.join.seeds) < maxSeeds && m.seedAt(s.Address) == nil {
			m.join.seeds = append(m.join.seeds, s)
		}
	}
	for _, a := range addresses {
		s := seed{Address: a}
		if i := slices.IndexFunc(old, func(s seed) bool { return s.Address == a }); i >= 0 {
			s = old[i]
		}
		s.listed = true
		add(s)
	}
	for _, s := range old {
		if !s.listed {
			add(s)
		}
	}
}

func (m *Machine) seedAt(a member.Address) *seed {
	i := slices.IndexFunc(m.join.seeds, func(s seed) bool { return s.Address == a })
	if i < 0 {
		return nil
	}
	return &m.join.seeds[i]
}

func (m *Machine) limitAttempts() {
	if m.cfg.Times.GiveUp > 0 && m.phase == idle {
		m.timers.set(giveUpTimer, m.now.Add(m.cfg.Times.GiveUp))
	}
}

func (m *Machine) giveUp() {
	m.stop(JoinTimedOut, "no seed of %v let this node into cluster %q within %v: see whether they run, or allow more time",
		m.otherSeeds(), m.cfg.Cluster, m.cfg.Times.GiveUp)
}

func (m *Machine) otherSeeds() []member.Address {
	var all []member.Address
	for _, s := range m.join.seeds {
		all = append(all, s.Address)
	}
	return all
}

// ask starts a round of questions.
func (m *Machine) ask() {
	m.phase = asking
	m.join.target = member.Address{}
	for i := range m.join.seeds {
		if m.join.way == bySeeds {
			m.join.seeds[i].nacked = time.Time{}
		}
	}
	m.timers.set(phaseTimer, m.now.Add(m.cfg.Times.SeedTimeout))
	m.askAgain()
}

// askAgain repeats the current question.
func (m *Machine) askAgain() {
	m.timers.set(askTimer, m.now.Add(m.cfg.Times.JoinRetry))
	if m.phase == waiting {
		m.send(member.ID{Address: m.join.target}, Join{
			Cluster: m.cfg.Cluster, Node: m.cfg.Self, Roles: m.cfg.Roles,
			DataCenter: m.cfg.DataCenter, AppVersion: m.cfg.AppVersion, ID: m.join.id,
		})
		return
	}
	if m.join.way == byContacts {
		if m.agree(); m.phase == joined {
			return
		}
	}
	for _, s := range m.join.seeds {
		m.send(member.ID{Address: s.Address}, InitJoin{Cluster: m.cfg.Cluster, Settings: m.cfg.Agree, Choice: m.choice()})
	}
}

// phaseOver ends asking or waiting that led nowhere.
func (m *Machine) phaseOver() {
	switch {
	case m.join.way == byAddress:
		m.joinThrough(m.join.target, 0)
	case m.phase == asking && m.refusedByAll():
	case m.phase == asking && m.join.first:
		m.found(m.newClusterID(), 0)
	default:
		m.ask()
	}
}

// joinThrough asks a member to let this node into its cluster; zero is any.
func (m *Machine) joinThrough(a member.Address, id member.ClusterID) {
	m.phase = waiting
	m.join.target, m.join.id, m.join.closing = a, id, false
	m.timers.set(phaseTimer, m.now.Add(m.cfg.Times.JoinTimeout))
	m.askAgain()
}

// found makes a cluster of one. The leader duties run at once, so that the
// founder is the oldest member whoever joins next, unless it needs others first.
func (m *Machine) found(id member.ClusterID, quorum int) {
	s := &State{ID: id, Quorum: quorum}
	m.enter(&State{})
	m.change(s.Update(m.newMember(m.cfg.Self, m.cfg.Roles, m.cfg.DataCenter, m.cfg.AppVersion)))
	m.leaderDuties()
}

// foundAs founds the cluster that somebody else has decided upon.
func (m *Machine) foundAs(id member.ClusterID) {
	if m.phase == asking && id != 0 {
		m.found(id, 0)
	}
}

func (m *Machine) newClusterID() member.ClusterID { return member.ClusterID(m.cfg.Rand.Uint64() | 1) }

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
	m.hear(from.Address, msg.Choice)
	// When no other seed has a cluster this one may found it. It waits for one
	// more round of questions: if all seeds were restarted together, the members
	// that are left invite them, and a second cluster must not come first.
	silent := slices.ContainsFunc(m.join.seeds, func(s seed) bool { return s.nacked.IsZero() })
	if grace := m.now.Add(m.cfg.Times.JoinRetry); m.join.first && !silent && grace.Before(m.timers[phaseTimer]) {
		m.timers.set(phaseTimer, grace)
	}
}

func (m *Machine) initJoinAck(from member.ID, msg InitJoinAck) {
	switch {
	case m.wrongCluster(from, msg.Cluster):
	case m.phase == joined && msg.ID != m.state.ID:
		m.meet(from, msg)
	case m.phase != asking:
		m.ignore(from, Late, "answer of a seed")
	case msg.ID == 0 || len(msg.Settings) > maxSettings:
		m.ignore(from, Malformed, "answer of a seed: cluster %v, %d settings", msg.ID, len(msg.Settings))
	case m.join.only != 0 && msg.ID != m.join.only:
		m.foreign(from, msg.ID)
	default:
		text := differences(m.cfg.Agree, msg.Settings)
		if text == "" && msg.Check == Incompatible {
			text = "see its log"
		}
		if text != "" && !m.cfg.JoinAnyway {
			m.stop(IncompatibleConfig, "the configuration differs from that of %v: %s", from, text)
			return
		}
		m.joinThrough(from.Address, msg.ID)
		m.join.closing = msg.Closing
	}
}

// seedRefused takes note that a seed wants no link of this node, ever.
func (m *Machine) seedRefused(a member.Address, text string) {
	if s := m.seedAt(a); s != nil && m.phase == asking {
		s.refuse = text
	}
}

// refusedByAll stops this node if no seed will ever talk to it: asked long
// enough, it is in the wrong place.
func (m *Machine) refusedByAll() bool {
	if len(m.join.seeds) == 0 || slices.ContainsFunc(m.join.seeds, func(s seed) bool { return s.refuse == "" }) {
		return false
	}
	s := m.join.seeds[0]
	m.stop(JoinRefused, "every seed of %v refuses this node of cluster %q; %v says: %s", m.otherSeeds(), m.cfg.Cluster, s.Address, s.refuse)
	return true
}

// welcome makes this node a member.
func (m *Machine) welcome(from member.ID, msg Welcome) {
	switch {
	case m.wrongCluster(from, msg.Cluster):
		return
	case m.phase == joined && msg.Gossip.ID != m.state.ID:
		m.foreign(from, msg.Gossip.ID) // asked for long ago
		m.send(from, m.status())
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
	case m.join.id != 0 && s.ID != m.join.id:
		m.foreign(from, s.ID)
		return
	}
	m.enter(s)
	m.state = m.saw(s)
	m.sendState(from)
}
