package gossip

import (
	"cmp"
	"math/rand/v2"
	"time"

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

	// ConfigCheck holds values that all nodes must agree on. A joiner and the
	// member that it asks compare those that both have.
	ConfigCheck map[string]string
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

// Times are the protocol's settings in time; zero means the default beside
// each.
type Times struct {
	InitialDelay  time.Duration // 1 s: from becoming a member to the first periodic task
	Gossip        time.Duration // 1 s: between gossip rounds
	LeaderActions time.Duration // 1 s: between leader duties
	Reaper        time.Duration // 1 s: between reviews of the failure detector
	GossipTTL     time.Duration // 2 s: gossip that waited longer before it was read is dropped

	JoinRetry   time.Duration // 1 s: between questions to the seeds, and between joins, until answered
	SeedTimeout time.Duration // 5 s: the first seed founds a cluster after so long without an answer
	JoinTimeout time.Duration // 10 s: a join that is not welcomed starts over
	GiveUp      time.Duration // never: the node stops after so long without getting in

	WeaklyUpAfter   time.Duration // 7 s without convergence: joining members become weakly up; negative: never
	QuarantineAfter time.Duration // 5 s: from the removal of a member that left to cutting its links
	TombstonesFor   time.Duration // 24 h: how long a removed node is remembered; longer than any partition

	Heartbeat        time.Duration // 1 s: between heartbeats
	AcceptablePause  time.Duration // 3 s: silence that is no reason for suspicion
	MinStdDeviation  time.Duration // 100 ms: of heartbeat intervals, for very regular ones
	ExpectedResponse time.Duration // 1 s: from the first heartbeat to the first answer
}

// withDefaults fills the zero fields; the caller's value stays as it is.
func (c Config) withDefaults() Config {
	c.DataCenter = cmp.Or(c.DataCenter, "default")
	c.Times = c.Times.withDefaults()
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

func (t Times) withDefaults() Times {
	for _, d := range []struct {
		field *time.Duration
		def   time.Duration
	}{
		{&t.InitialDelay, time.Second},
		{&t.Gossip, time.Second},
		{&t.LeaderActions, time.Second},
		{&t.Reaper, time.Second},
		{&t.GossipTTL, 2 * time.Second},
		{&t.JoinRetry, time.Second},
		{&t.SeedTimeout, 5 * time.Second},
		{&t.JoinTimeout, 10 * time.Second},
		{&t.WeaklyUpAfter, 7 * time.Second},
		{&t.QuarantineAfter, 5 * time.Second},
		{&t.TombstonesFor, 24 * time.Hour},
		{&t.Heartbeat, time.Second},
		{&t.AcceptablePause, 3 * time.Second},
		{&t.MinStdDeviation, 100 * time.Millisecond},
		{&t.ExpectedResponse, time.Second},
	} {
		*d.field = cmp.Or(*d.field, d.def)
	}
	return t
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
