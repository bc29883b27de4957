package member

import (
	"fmt"
	"strings"
	"time"
)

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

// String gives one line without the times, which each reader puts in its own form.
func (w Wait) String() string {
	var b strings.Builder
	b.WriteString(string(w.What) + ": " + w.Why)
	for _, on := range w.On {
		b.WriteString("; " + on.Node.String() + " " + on.Why)
	}
	return b.String()
}

// Text tells it in plain words, several lines, to a reader at that time.
func (w Wait) Text(at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", w.What, w.Why)
	if !w.Since.IsZero() {
		fmt.Fprintf(&b, "  for %v, since %s\n", at.Sub(w.Since).Round(100*time.Millisecond), moment(w.Since, at))
	}
	if !w.Until.IsZero() {
		fmt.Fprintf(&b, "  until %s at the latest, in %v\n", moment(w.Until, at), max(0, w.Until.Sub(at)).Round(100*time.Millisecond))
	}
	for _, on := range w.On {
		fmt.Fprintf(&b, "  %s %s\n", on.Node.Address, on.Why)
	}
	if w.Act != "" {
		fmt.Fprintf(&b, "  to do: %s\n", w.Act)
	}
	return b.String()
}

// moment is a time as people write it near another one: with the day where that
// is not plain.
func moment(t, at time.Time) string {
	if t.Sub(at).Abs() >= 12*time.Hour {
		return t.UTC().Format("2006-01-02 15:04:05Z")
	}
	return t.UTC().Format("15:04:05.0Z")
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
