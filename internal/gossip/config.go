package gossip

import (
	"cmp"
	"math/rand/v2"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/phi"
)

// Config is what a [Machine] needs to know. Only Self, Cluster and Rand are
// required; zero fields have the default beside them.
type Config struct {
	Self       member.ID
	Cluster    string // only nodes that name the same cluster talk to each other
	Roles      []string
	DataCenter string // "default"
	AppVersion string

	Times       Times
	MonitoredBy int     // how many neighbours watch each member: 9
	Threshold   float64 // suspicion at which a neighbour is unreachable: 8
	MaxSamples  int     // heartbeat intervals that the detector remembers: 1000

	MinMembers     int            // members needed before anybody is moved to Up: 1
	MinRoleMembers map[string]int // the same for each role

	// Agree holds the settings that all nodes must agree on, each name once. A
	// joiner and the member that it asks compare those that both have.
	Agree []Setting
	// JoinAnyway joins although they differ, instead of stopping.
	JoinAnyway bool

	// DifferentView is the probability of preferring gossip targets that have
	// not seen the current version: 0.8; it falls in clusters of more than
	// DifferentViewFrom (400) members. See [DifferentViewProbability].
	DifferentView     float64
	DifferentViewFrom int
	// CrossDataCenter is the probability that one of the CrossConnections (5)
	// oldest members of a data center gossips with another one: 0.2.
	CrossDataCenter  float64
	CrossConnections int

	Rand *rand.Rand // owned by the machine from New on; seed it for a reproducible run
}

// withDefaults fills the zero fields; the caller's value stays as it is.
func (c Config) withDefaults() Config {
	c.DataCenter = cmp.Or(c.DataCenter, "default")
	c.Times = c.Times.WithDefaults()
	c.MonitoredBy = cmp.Or(c.MonitoredBy, 9)
	c.Threshold = cmp.Or(c.Threshold, 8)
	c.MaxSamples = cmp.Or(c.MaxSamples, 1000)
	c.MinMembers = cmp.Or(c.MinMembers, 1)
	c.DifferentView = cmp.Or(c.DifferentView, 0.8)
	c.DifferentViewFrom = cmp.Or(c.DifferentViewFrom, 400)
	c.CrossDataCenter = cmp.Or(c.CrossDataCenter, 0.2)
	c.CrossConnections = cmp.Or(c.CrossConnections, 5)
	return c
}

// detector gives the settings of the failure detector for one neighbour.
func (c Config) detector() phi.Settings {
	return phi.Settings{
		Threshold:       c.Threshold,
		MaxSamples:      c.MaxSamples,
		MinStdDeviation: c.Times.MinStdDeviation,
		AcceptablePause: c.Times.AcceptablePause,
		FirstEstimate:   c.Times.Heartbeat,
	}
}
