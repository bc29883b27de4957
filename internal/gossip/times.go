package gossip

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Times are the protocol's settings in time; zero means the default beside
// each.
type Times struct {
	InitialDelay  time.Duration // 1 s: from becoming a member to the first periodic task
	Gossip        time.Duration // 1 s: between gossip rounds; at least 10 ms, like all that are between things
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

	Isolation time.Duration // 500 ms: for so long all attempts to reach a member whose link broke must be refused; at least 100 ms
}

// leastIsolation leaves time for ten attempts to reach a member, and for a node
// that is cut off itself to stop in half of it.
const leastIsolation = 100 * time.Millisecond

// leastPeriod bounds what is done again and again: a unit that was left out makes
// nanoseconds of it, and a node that does nothing else.
const leastPeriod = 10 * time.Millisecond

// setting is one of the times, by the name of its field.
type setting struct {
	name     string
	value    *time.Duration
	def      time.Duration
	periodic bool
}

// settings are those that have a default and must be positive.
func (t *Times) settings() []setting {
	return []setting{
		{"InitialDelay", &t.InitialDelay, time.Second, false},
		{"Gossip", &t.Gossip, time.Second, true},
		{"LeaderActions", &t.LeaderActions, time.Second, true},
		{"Reaper", &t.Reaper, time.Second, true},
		{"GossipTTL", &t.GossipTTL, 2 * time.Second, false},
		{"JoinRetry", &t.JoinRetry, time.Second, true},
		{"SeedTimeout", &t.SeedTimeout, 5 * time.Second, false},
		{"JoinTimeout", &t.JoinTimeout, 10 * time.Second, false},
		{"QuarantineAfter", &t.QuarantineAfter, 5 * time.Second, false},
		{"TombstonesFor", &t.TombstonesFor, 24 * time.Hour, false},
		{"Heartbeat", &t.Heartbeat, time.Second, true},
		{"AcceptablePause", &t.AcceptablePause, 3 * time.Second, false},
		{"MinStdDeviation", &t.MinStdDeviation, 100 * time.Millisecond, false},
		{"ExpectedResponse", &t.ExpectedResponse, time.Second, false},
		{"Isolation", &t.Isolation, 500 * time.Millisecond, false},
	}
}

// WithDefaults fills the zero fields.
func (t Times) WithDefaults() Times {
	for _, s := range t.settings() {
		*s.value = cmp.Or(*s.value, s.def)
	}
	t.WeaklyUpAfter = cmp.Or(t.WeaklyUpAfter, 7*time.Second)
	return t
}

// Validate tells all that is wrong with the times together: negative ones, but
// for WeaklyUpAfter, ones so short that a unit was forgotten, and pairs of which one never gets its turn because of the
// other. Defaults take part.
func (t Times) Validate() error {
	isolation := t.Isolation // its default fits everybody who did not ask
	t = t.WithDefaults()
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, s := range append(t.settings(), setting{name: "GiveUp", value: &t.GiveUp}) {
		if *s.value < 0 {
			problem("%s is %v: use a positive time, or none for the default", s.name, *s.value)
		}
	}
	for _, s := range t.settings() {
		if s.periodic && *s.value >= 0 && *s.value < leastPeriod {
			problem("%s is %v: use at least %v", s.name, *s.value, leastPeriod)
		}
	}
	if t.AcceptablePause < t.Heartbeat {
		problem("AcceptablePause %v is less than Heartbeat %v: one heartbeat that is lost would be reason for suspicion", t.AcceptablePause, t.Heartbeat)
	}
	if t.Isolation < leastIsolation && t.Isolation >= 0 {
		problem("Isolation is %v: use at least %v", t.Isolation, leastIsolation)
	}
	if isolation > t.AcceptablePause {
		problem("Isolation %v is more than AcceptablePause %v: silence would be noticed before a crash", isolation, t.AcceptablePause)
	}
	if t.SeedTimeout < t.JoinRetry {
		problem("SeedTimeout %v is less than JoinRetry %v: no seed would be asked twice", t.SeedTimeout, t.JoinRetry)
	}
	if t.JoinTimeout < t.JoinRetry {
		problem("JoinTimeout %v is less than JoinRetry %v: no join would be sent twice", t.JoinTimeout, t.JoinRetry)
	}
	if t.GiveUp > 0 && t.GiveUp < t.SeedTimeout {
		problem("GiveUp %v is less than SeedTimeout %v: the first seed would stop before it may found a cluster", t.GiveUp, t.SeedTimeout)
	}
	return errors.Join(problems...)
}
