package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
)

// remembered is how many of the last happenings a failure tells.
const remembered = 60

// log keeps what a failure has to tell.
type log struct {
	faults []string
	last   []string          // at most twice as many as are told
	tell   func(line string) // gets every happening; may be nil
}

func (l *log) add(line string) {
	if l.tell != nil {
		l.tell(line)
	}
	if l.last = append(l.last, line); len(l.last) == 2*remembered {
		l.last = append(l.last[:0], l.last[remembered:]...)
	}
}

func (w *World) stamp(line string) string {
	return fmt.Sprintf("%9.3fs %s", w.now.Sub(birth).Seconds(), line)
}

// notef remembers a happening.
func (w *World) notef(format string, args ...any) {
	w.log.add(w.stamp(fmt.Sprintf(format, args...)))
}

// noteEvent remembers the events of a node that tell its story. Who has seen
// what changes all the time and tells little.
func (w *World) noteEvent(n *node, e gossip.Event) {
	if e, ok := e.(gossip.CrashConfirmed); ok {
		w.sometimes("a crash is confirmed")
		w.checkCrash(n, e)
	}
	if len(w.nodes) > 200 {
		return // nobody could read it, and it would be most of the work
	}
	switch e := e.(type) {
	case gossip.MemberRemoved:
		w.notef("%s sees %s removed, was %s", n.id, e.Member.ID, e.Previous)
	case gossip.MemberChanged:
		if e.Member.Status == member.WeaklyUp {
			w.sometimes("members become weakly up")
		}
		w.notef("%s sees %s %s", n.id, e.Member.ID, e.Member.Status)
	case gossip.UnreachableMember:
		w.notef("%s sees %s unreachable", n.id, e.Member.ID)
	case gossip.ReachableMember:
		w.sometimes("unreachable members come back")
		w.notef("%s sees %s reachable", n.id, e.Member.ID)
	case gossip.LeaderChanged:
		w.notef("%s follows %s", n.id, e.Leader)
	case gossip.Stalled:
		w.sometimes("a node notices that it stood still")
		w.notef("%s notices that it stood still for %v", n.id, e.By)
	case gossip.CrashConfirmed:
		w.notef("%s confirms that %s has crashed, by %d of %d", n.id, e.Suspect, len(e.By), e.Members)
	case gossip.OtherCluster:
		w.notef("%s hears of another cluster from %s", n.id, e.From)
	case gossip.Ignored:
		w.notef("%s ignores %s: %s %s", n.id, e.From, e.Reason, e.Text)
	}
}

// noteDecision tells what a resolver decided.
func (w *World) noteDecision(n *node, d *sbr.Decision) {
	w.notef("%s decides: %s", n.id, d.Describe())
	w.checkDecision(n, d)
	switch {
	case d.Action == sbr.DownEverybody && d.Strategy != (sbr.DownAll{}).Name():
		w.sometimes("all is downed because nothing is stable")
	case len(d.IndirectlyConnected) > 0:
		w.sometimes("indirectly connected members are downed")
	case d.Action == sbr.DownReachable:
		w.sometimes("the smaller side downs itself")
	}
	if slices.Contains(d.Down, n.id) {
		w.sometimes("a node downs itself")
	}
}

// failure ends a script; Run reports it.
type failure struct{ text string }

func (w *World) failf(format string, args ...any) {
	panic(failure{fmt.Sprintf(format, args...)})
}

// report is what a person needs to understand a failure.
func (w *World) report(text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, after %v of virtual time: %s\n", w.seed, w.now.Sub(birth).Round(time.Millisecond), text)
	fmt.Fprintf(&b, "faults:\n  %s\n", strings.Join(w.log.faults, "\n  "))
	last := w.log.last[max(0, len(w.log.last)-remembered):]
	fmt.Fprintf(&b, "last happenings:\n  %s\n", strings.Join(last, "\n  "))
	return b.String()
}
