package member

import "time"

// A Wait is something that a node waits for, or a state in which it will stay
// until somebody acts: what, why, since when, until when, on whom, and who must
// do what.
type Wait struct {
	What  WaitKind
	Why   string    // what is missing, in plain words
	Since time.Time // zero: not known
	Until time.Time // when it ends by itself at the latest; zero: no such time is set
	On    []Holdup  // whom it waits for, in order; empty: nobody in particular
	Act   string    // who must do what; empty: nobody, it ends by itself
}

// A Holdup is a node for which something waits, and why.
type Holdup struct {
	Node ID     // its UID is zero when only the address is known
	Why  string // in plain words, without the node's name
}

// WaitKind names what is waited for; the texts are for programs to compare.
type WaitKind string

// What a node waits for.
const (
	WaitJoin        WaitKind = "join"         // to become a member, and to come up
	WaitConvergence WaitKind = "convergence"  // for all to agree on a version of the membership
	WaitLeave       WaitKind = "leave"        // for this node, or a member, to be gone
	WaitCrash       WaitKind = "crash"        // for a majority to vote that a member has crashed
	WaitDecision    WaitKind = "decision"     // for the split brain resolver
	WaitPause       WaitKind = "pause"        // for a majority to say that this node is still a member
	WaitConfig      WaitKind = "refused join" // for somebody to give nodes settings that agree
	WaitCluster     WaitKind = "two clusters" // for somebody to stop one of two clusters
	WaitCertificate WaitKind = "certificate"  // for somebody to renew a certificate
	WaitStore       WaitKind = "store"        // for a store that answers and takes writes
	WaitShutdown    WaitKind = "shutdown"     // for all members to leave: the whole cluster stops
)
