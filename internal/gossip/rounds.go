package gossip

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// farewells is to how many random members the last state of a leaving or
// downed node goes.
const farewells = 5

// gossipRound talks to one other node, and sets the time of the next round: a
// third of the interval, twice at most, while there is urgent news.
func (m *Machine) gossipRound() {
	m.gossipOnce()
	interval := m.cfg.Times.Gossip
	third := interval / 3
	if m.third < 2 && m.urgent() {
		m.third++
		m.timers.set(gossipTimer, m.now.Add(third))
		return
	}
	m.timers.set(gossipTimer, m.now.Add(interval-third*time.Duration(m.third)))
	m.third = 0
}

// urgent: a member is to go, or most have not seen the current version.
func (m *Machine) urgent() bool {
	return len(m.state.Seen) < len(m.state.Members)/2 ||
		slices.ContainsFunc(m.state.Members, func(m member.Member) bool { return m.Status == member.Down })
}

// gossipOnce sends the state to a target that has not seen it, or else the
// status: the target may have something newer.
func (m *Machine) gossipOnce() {
	p := m.perspective()
	to, ok := m.pickTarget(p)
	switch {
	case !ok:
	case p.SeenBy(to) || p.foreign(to):
		m.send(to, m.status())
	default:
		m.sendState(to)
	}
}

// pickTarget throws the dice.
func (m *Machine) pickTarget(p Perspective) (member.ID, bool) {
	if len(p.Members) < 2 {
		return member.ID{}, false
	}
	chance := DifferentViewProbability(m.cfg.DifferentView, m.cfg.DifferentViewFrom, len(p.Members))
	differ := m.cfg.Rand.Float64() < chance
	others := p.otherDataCenters()
	local := len(others) == 0 || !m.crossOver(p)
	m.cfg.Rand.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	targets := p.Targets(local, differ, others, m.cfg.CrossConnections)
	if len(targets) == 0 {
		return member.ID{}, false
	}
	return targets[m.cfg.Rand.IntN(len(targets))], true
}

// crossOver decides whether to gossip with another data center: with a small
// probability, and with a larger one where a few have to speak for the whole.
func (m *Machine) crossOver(p Perspective) bool {
	n := len(p.oldest(p.DataCenter, 5))
	chance := max(float64(5-n)*0.25, m.cfg.CrossDataCenter)
	return m.cfg.Rand.Float64() < chance
}

func (m *Machine) status() GossipStatus {
	return GossipStatus{Version: m.state.Version, Seen: m.seenDigest(), ID: m.state.ID}
}

// sendState sends the whole state.
func (m *Machine) sendState(to member.ID) {
	m.send(to, GossipEnvelope{Cluster: m.cfg.Cluster, To: to, Gossip: m.pack()})
}

// sendStateAround sends the state to a few random members.
func (m *Machine) sendStateAround() {
	targets := m.perspective().Targets(true, false, nil, 0)
	m.cfg.Rand.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	for _, to := range targets[:min(farewells, len(targets))] {
		m.sendState(to)
	}
}

// pack is made once for each state.
func (m *Machine) pack() Packed {
	if m.packedOf != m.state {
		m.packed, m.packedOf = packAfter(m.state, m.packedOf, m.packed), m.state
	}
	return m.packed
}

// seenDigest is made once for each state.
func (m *Machine) seenDigest() uint64 {
	if m.digestOf != m.state {
		m.digest, m.digestOf = digest(m.state.Seen), m.state
	}
	return m.digest
}

// digest is a function of a set: 0 for the empty one only, in practice. It is
// FNV-1a, 64 bits.
func digest(seen ids) uint64 {
	if len(seen) == 0 {
		return 0
	}
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for _, id := range seen {
		for i := range len(id.Host) {
			h = (h ^ uint64(id.Host[i])) * prime
		}
		h = (h ^ uint64(id.Port)) * prime
		h = (h ^ uint64(id.UID)) * prime
	}
	return h
}

// gossipStatus compares versions and sends what the other side lacks, or asks
// for what this one lacks by sending its own status.
func (m *Machine) gossipStatus(from member.ID, msg GossipStatus) {
	if m.phase == joined && msg.ID != m.state.ID {
		m.foreign(from, msg.ID)
		return
	}
	if !m.listensTo(from) {
		return
	}
	if len(msg.Version) > maxNodes {
		m.ignore(from, Malformed, "gossip status with %d counts", len(msg.Version))
		return
	}
	if own := m.seenDigest(); own != msg.Seen && own != 0 && msg.Seen != 0 {
		m.sendState(from)
		return
	}
	switch Clock(msg.Version).Compare(m.state.Version) {
	case Same:
	case After:
		m.send(from, m.status())
	case Before, Concurrent:
		m.sendState(from)
	}
}

// listensTo tells whether gossip from a node matters. Silence towards a node
// that self cannot reach lasts until the failure detector has heard from it.
func (m *Machine) listensTo(from member.ID) bool {
	switch {
	case m.phase != joined:
		m.ignore(from, NotMember, "gossip")
	case m.state.Has(from):
		if said := m.state.Table.Status(m.cfg.Self, from); said == Reachable || said == Disputed {
			m.recognized(from)
			return true
		}
		m.ignore(from, SenderUnreachable, "gossip")
	case m.state.tombstoned(from):
		// It does not know yet. The tombstone in the state tells it.
		m.sendState(from)
		m.ignore(from, WasRemoved, "gossip")
	default:
		if m.takesIn() && m.state.cameUp(m.cfg.Self) {
			m.sendState(from)
		}
		m.ignore(from, Stranger, "gossip")
	}
	return false
}

// gossipEnvelope takes in somebody's state.
func (m *Machine) gossipEnvelope(in Received, msg GossipEnvelope) {
	from := in.From
	switch {
	case !in.Arrived.IsZero() && m.now.Sub(in.Arrived) > m.cfg.Times.GossipTTL:
		m.ignore(from, Late, "gossip")
		return
	case msg.Cluster != m.cfg.Cluster:
		m.ignore(from, WrongCluster, "gossip of cluster %.255q reached cluster %q", msg.Cluster, m.cfg.Cluster)
		return
	case msg.To != m.cfg.Self:
		m.ignore(from, OtherSelf, "gossip")
		return
	}
	remote, err := msg.Gossip.unpack()
	switch {
	case err != nil:
		m.ignore(from, Malformed, "gossip: %v", err)
	case m.phase == joined && remote.ID != m.state.ID:
		m.foreign(from, remote.ID)
		m.send(from, m.status())
	case !remote.Has(m.cfg.Self):
		m.disowned(from, remote)
	case m.listensTo(from):
		m.takeIn(from, remote)
	}
}

// takeIn brings the own state and another member's together.
func (m *Machine) takeIn(from member.ID, remote *State) {
	remote = remote.sharing(m.state)
	next, answer := m.state, !remote.SeenBy(m.cfg.Self) && !m.handingOver(m.state)
	order := remote.Version.Compare(m.state.Version)
	switch {
	case order == Same && m.state.sameContent(remote):
		next = m.state.withSeen(ids(m.state.Seen).union(remote.Seen))
	case order == After && !m.state.contradicts(remote):
		next = remote
	case order == Before && !remote.contradicts(m.state):
		answer = true
	default:
		// Concurrent, or a merge that has removed nodes and lost their counts: it
		// looks older than what went into it.
		next, answer = Reconcile(m.state, remote, m.cfg.Self, m.now.UnixMilli()), true
	}
	if !next.Has(m.cfg.Self) {
		successor, _ := next.at(m.cfg.Self.Address)
		m.stop(Removed, "%v was started later than this node at the same address: give each its own", successor.ID)
		return
	}
	if disputed := m.disputed(next); disputed != next {
		m.change(disputed) // before anybody can hold that this node agrees
		answer = true
	} else {
		m.state = m.saw(next)
	}
	if answer {
		m.sendState(from)
	}
}
