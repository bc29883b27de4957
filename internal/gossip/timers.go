package gossip

import "time"

// timer names one thing that the machine waits for.
type timer uint8

const (
	gossipTimer     timer = iota // the next round, or a third of one
	heartbeatTimer               // the next heartbeats
	reaperTimer                  // the next review of the failure detector
	leaderTimer                  // the next leader duties
	inviteTimer                  // the next invitation of seeds that are missing
	askTimer                     // the next question or join, while not a member
	phaseTimer                   // the end of asking or joining without success
	giveUpTimer                  // the end of all attempts
	expectTimer                  // the first answer of a new neighbour
	quarantineTimer              // the links of a member that left
	timerCount
)

// timers hold one moment each; zero means not set.
type timers [timerCount]time.Time

func (t *timers) set(k timer, at time.Time) { t[k] = at }

// due tells whether the timer's moment has come, and unsets it then. A timer
// that is late fires once, however late.
func (t *timers) due(k timer, now time.Time) bool {
	if t[k].IsZero() || now.Before(t[k]) {
		return false
	}
	t[k] = time.Time{}
	return true
}

// next is the earliest moment; zero when none is set.
func (t *timers) next() time.Time {
	var first time.Time
	for _, at := range t {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}
