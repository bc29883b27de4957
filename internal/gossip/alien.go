package gossip

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// An Alien is a node of another cluster that has the name of this one.
type Alien struct {
	From        member.ID // who was heard last
	ID          member.ClusterID
	Since, Last time.Time // when it was heard for the first and the last time
}

// aliens are the latest, one for each other cluster, in the order in which they
// were first heard.
type aliens []Alien

const (
	maxAliens     = 8
	rememberAlien = time.Minute // members repeat themselves more often
)

func (a *aliens) hear(now time.Time, from member.ID, id member.ClusterID) {
	*a = slices.DeleteFunc(*a, func(x Alien) bool { return now.Sub(x.Last) > rememberAlien })
	i := slices.IndexFunc(*a, func(x Alien) bool { return x.ID == id })
	if i < 0 {
		if len(*a) == maxAliens {
			*a = slices.Delete(*a, 0, 1)
		}
		*a = append(*a, Alien{Since: now, ID: id})
		i = len(*a) - 1
	}
	(*a)[i].From, (*a)[i].Last = from, now
}

// Aliens are the other clusters of this name from which something was heard
// within the last minute. There should be none: somebody must stop all nodes of
// one of the clusters.
func (m *Machine) Aliens(now time.Time) []Alien {
	return slices.DeleteFunc(slices.Clone(m.alien), func(a Alien) bool { return now.Sub(a.Last) > rememberAlien })
}

// foreign takes note of a node that says it belongs to another cluster of this
// name. If it is a member here, it was let in but never came: an incarnation
// belongs to one cluster in its life, so it is gone for good.
func (m *Machine) foreign(from member.ID, id member.ClusterID) {
	if id == 0 {
		m.ignore(from, Malformed, "a message of no cluster")
		return
	}
	m.ignored[OtherID]++
	m.notes = append(m.notes, OtherCluster{from, id})
	m.alien.hear(m.now, from, id)
	if m.phase == joined && from != m.cfg.Self && m.state.Has(from) {
		m.terminated(from)
		m.down(from)
	}
}

// wrongCluster tells whether a message names another cluster.
func (m *Machine) wrongCluster(from member.ID, name string) bool {
	if name == m.cfg.Cluster {
		return false
	}
	m.ignore(from, WrongCluster, "a node of cluster %.255q talks to cluster %q", name, m.cfg.Cluster)
	return true
}

// meet takes note of a member of another cluster that knows of this one. Both
// sides should know: to have two is an error. But if this node's cluster has not
// begun and is not going to, because the other one was first, or is the one of two
// incomplete ones that has to give way, this node ends; started anew, it joins
// the other one.
//
// A node that has seen its cluster complete stays as long as no other has begun.
// So no member counts for two clusters at once: see [JoinContacts].
func (m *Machine) meet(from member.ID, msg InitJoinAck) {
	m.foreign(from, msg.ID)
	if msg.ID == 0 {
		return
	}
	own := m.state.stage()
	if own < msg.Stage || own == Incomplete && own == msg.Stage && msg.ID < m.state.ID {
		m.stop(Superseded, "cluster %v of this name, to which %v belongs, came first, while cluster %v of this node had %d of the %d members "+
			"that it needs to begin: start this node anew to join it", msg.ID, from, m.state.ID, len(m.state.Members), m.state.Quorum)
		return
	}
	if msg.Invitation {
		m.send(from, m.ack(nil))
	}
}
