// Package gossip is the membership of one node as a pure state machine: who
// belongs to the cluster, in which status, who can reach whom, and when all
// agree.
//
// Members push and pull an immutable [State] with a vector clock: each round a
// node tells one other which version it has, and the one that is behind gets
// the state. Concurrent versions merge. A version is agreed (converged) when
// all reachable members have seen it; only then does the leader, the first
// reachable member in address order, move members on in their lives. A failure
// detector tells who is reachable; it decides nothing.
//
// [Machine] is the protocol of one node: [Machine.Step] takes an input and
// gives what the node must do. Other types are values that Step computes with,
// looked at through a [Perspective].
//
// # What is promised
//
// A member's status never goes back, and a removed incarnation never returns:
// a restarted process is another member, which replaces its predecessor at
// once, whoever else may be unreachable. There is never more than one member at
// an address, and an incarnation does not give way to an earlier one.
// Subscribers hear that one incarnation is removed before they hear of the next
// on the same address. Nodes with the same version have the same members. A
// node that no member knows, or that was removed, is told so and ends.
//
// # Order and concurrency
//
// Everything is deterministic: time and randomness are arguments, and no map
// order reaches an output. A Machine belongs to one goroutine and never
// blocks; what it puts out is immutable and may be shared. Whatever the network
// brings is checked; what is wrong is counted by [Reason] and otherwise
// ignored. A broken invariant of its own makes Step panic with the state.
package gossip

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/phi"
)

// Machine is the membership protocol of one node. It belongs to one goroutine.
type Machine struct {
	cfg    Config
	now    time.Time // of the current Step
	out    Output    // of the current Step
	notes  []Event   // of the current Step, about other things than the membership
	phase  phase
	timers timers

	state   *State  // never nil; empty before this node is a member
	told    Summary // what subscribers know
	latest  Summary // of the state that was summed up last
	view    *member.View
	packed  Packed // of packedOf
	digest  uint64 // of digestOf's seen
	ignored [reasonCount]uint64

	// packedOf and digestOf are the states that packed and digest were made of.
	packedOf, digestOf *State

	join  joining
	alien aliens
	leave leaving
	beats heartbeats

	unknown   time.Time          // since when members say that they do not know this node; zero: they do
	third     int                // of the current gossip round, from 0 to 2
	unagreed  int                // leader ticks in a row without convergence
	confirmed ids                // Exiting members that may be removed
	cutLater  []departure        // in the order of their time
	trusted   ids                // members that are not to be held for crashed: see Trust
	departed  []member.Departure // the last members that were removed, in that order
	downed    downed

	undisputed undisputed
}

// phase is where the node stands with its own membership.
type phase uint8

const (
	idle    phase = iota // not asked to join yet
	asking               // seeds were asked whether they know a cluster
	waiting              // a member was asked to let this node in
	joined               // a member, whatever its status
	stopped              // for good
)

// departure is a member that left, whose links are to be cut.
type departure struct {
	at time.Time
	id member.ID
}

// New makes the machine of a node that has not joined yet.
func New(cfg Config) *Machine {
	m := &Machine{cfg: cfg.withDefaults(), state: &State{}, packedOf: &State{}}
	m.told = Summarize(m.perspective())
	m.latest, m.view = m.told, m.told.View()
	return m
}

// Step feeds one input to the machine and returns what the node must do. Time
// must not go back. Timers that are due run in any Step.
func (m *Machine) Step(now time.Time, in Input) Output {
	if m.phase == stopped {
		return Output{}
	}
	m.now, m.out, m.notes = now, Output{}, nil
	before := m.state
	m.noticeStall()
	m.handle(in)
	m.runTimers()
	if s := m.disputed(m.state); s != m.state {
		m.change(s)
	}
	m.mindSelf()
	m.hurry(before)
	m.tell()
	m.check(before)
	if m.phase != stopped {
		m.out.Wake = m.timers.next()
	}
	m.out.Events = append(m.out.Events, m.notes...)
	return m.out
}

func (m *Machine) handle(in Input) {
	switch in := in.(type) {
	case Received:
		m.receive(in)
	case JoinSeeds:
		m.joinSeeds(in.Seeds)
	case JoinContacts:
		m.joinContacts(in)
	case Found:
		m.foundAs(in.ID)
	case SeedRefused:
		m.seedRefused(in.Address, in.Text)
	case Void:
		m.stop(Removed, "%s", in.Text)
	case JoinAddress:
		m.joinAddress(in.Address)
	case Leave:
		m.startLeave(in.Address)
	case Down:
		m.downAt(in.Address)
	case DownAll:
		m.down(in.Members...)
	case ExitDone:
		m.leave.handedOver = true
	case Crashed:
		m.crashed(in.ID)
	case Early:
		m.ignored[Undecided]++
	case Quarantined:
		m.terminated(in.ID)
	case Expelled:
		m.expelled(in.By)
	case PrepareShutdown:
		m.prepareShutdown()
	case LinkBroke:
		m.trusted = m.trusted.without(in.Peer)
	case Tick, Dialed:
	}
}

func (m *Machine) receive(in Received) {
	m.met(in.From)
	switch msg := in.Msg.(type) {
	case Heartbeat:
		m.heartbeat(in.From, msg)
	case HeartbeatRsp:
		m.heartbeatRsp(in.From, msg)
	case GossipStatus:
		m.gossipStatus(in.From, msg)
	case GossipEnvelope:
		m.gossipEnvelope(in, msg)
	case InitJoin:
		m.initJoin(in.From, msg)
	case InitJoinAck:
		m.initJoinAck(in.From, msg)
	case InitJoinNack:
		m.initJoinNack(in.From, msg)
	case Join:
		m.letIn(in.From, msg)
	case Welcome:
		m.welcome(in.From, msg)
	case ExitingConfirmed:
		m.exitingConfirmed(in.From)
	case CrashVote:
	default:
		m.ignore(in.From, Malformed, "unknown message %T", in.Msg)
	}
}

// runTimers runs what is due. Rounds that were missed are not made up for.
func (m *Machine) runTimers() {
	for k := range timerCount {
		if !m.timers.due(k, m.now) {
			continue
		}
		switch k {
		case heartbeatTimer:
			m.sendHeartbeats()
		case expectTimer:
			m.expectResponses()
		case reaperTimer:
			m.review()
		case gossipTimer:
			m.gossipRound()
		case leaderTimer:
			m.leaderTick()
		case inviteTimer:
			m.invite()
		case quarantineTimer:
			m.cutDeparted()
		case askTimer:
			m.askAgain()
		case phaseTimer:
			m.phaseOver()
		case giveUpTimer:
			m.giveUp()
		case timerCount: // is none
		}
	}
}

// enter makes this node a member with a state that it is in.
func (m *Machine) enter(s *State) {
	m.phase = joined
	m.state = s
	m.beats.watch = phi.NewWatch(m.cfg.Self, m.cfg.MonitoredBy, m.cfg.detector())
	m.join.target = member.Address{}
	m.timers = timers{}
	for _, k := range []timer{gossipTimer, heartbeatTimer, reaperTimer, leaderTimer} {
		m.timers.set(k, m.now.Add(m.cfg.Times.InitialDelay))
	}
}

// change makes a new version of the state.
func (m *Machine) change(s *State) {
	if m.handingOver(s) {
		m.state = s.changedBy(m.cfg.Self)
	} else {
		m.state = s.changedBy(m.cfg.Self, m.cfg.Self)
	}
}

// saw adds self to those that have seen a state, unless it is still handing
// over. That is all that keeps an Exiting node in the cluster until it is done.
func (m *Machine) saw(s *State) *State {
	if m.handingOver(s) {
		return s
	}
	return s.seenAlso(m.cfg.Self)
}

// handingOver tells whether this node is Exiting but not done with it.
func (m *Machine) handingOver(s *State) bool {
	self, ok := s.Member(m.cfg.Self)
	return ok && self.Status == member.Exiting && !m.leave.handedOver
}

func (m *Machine) self() member.Member {
	self, _ := m.state.Member(m.cfg.Self)
	return self
}

func (m *Machine) perspective() Perspective {
	return Perspective{State: m.state, Self: m.cfg.Self, DataCenter: m.cfg.DataCenter}
}

// summary is of the current state, remembered from the last time when possible.
func (m *Machine) summary() Summary {
	if m.latest.State != m.state {
		m.latest = m.told.next(m.perspective())
	}
	return m.latest
}

func (m *Machine) send(to member.ID, msg Message) {
	m.out.Send = append(m.out.Send, Packet{to, msg})
}

func (m *Machine) stop(reason StopReason, format string, args ...any) {
	if m.phase == stopped {
		return
	}
	m.phase = stopped
	m.out.Stop = &Stop{Reason: reason, Text: fmt.Sprintf(format, args...)}
}

// ignore counts a message that is not acted upon. The reasons that are nobody's
// mistake happen in masses, so they make no event.
func (m *Machine) ignore(from member.ID, why Reason, format string, args ...any) {
	m.ignored[why]++
	if why >= WrongCluster {
		m.notes = append(m.notes, Ignored{from, why, fmt.Sprintf(format, args...)})
	}
}

// Ignored counts the messages that were ignored for a reason.
func (m *Machine) Ignored(why Reason) uint64 { return m.ignored[why] }

// View is the membership as this node sees it now, never nil.
func (m *Machine) View() *member.View { return m.view }

// Replay gives the events that lead from an empty membership to the present
// one, for who begins to follow it only now.
func (m *Machine) Replay() []Event { return m.told.Diff(Summarize(m.told.without())) }

// State is the gossip state now; nobody changes it.
func (m *Machine) State() *State { return m.state }
