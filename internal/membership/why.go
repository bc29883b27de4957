package membership

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
)

// Why tells what this node waits for in the membership, in the order in which
// one wait is the cause of the next; empty when all is well.
func (c *Core) Why(now time.Time) []member.Wait {
	h, v := &c.history, c.machine.View()
	waits := c.machine.Joins()
	for i := range waits {
		waits[i].Since = h.joining(v)
	}
	waits = append(waits, h.mistakes(now)...)
	waits = append(waits, h.convergence(v, c.closing)...)
	waits = append(waits, c.crashWaits()...)
	waits = append(waits, c.Deciding()...)
	waits = append(waits, h.departures(v)...)
	if c.closing {
		waits = append(waits, h.shutdown(v))
	}
	return waits
}

// history remembers since when the facts have been so that a view only names.
// It holds nothing about who is no member, but for a few strangers.
type history struct {
	began    time.Time                        // of the first step
	unagreed time.Time                        // since when a version is not agreed; zero: it is
	blames   map[member.Observation]time.Time // since when one holds another for unreachable
	members  []member.Member                  // of the last view, as are observations
	statuses map[member.ID]status             // since when a member has its status

	observations []member.Observation
	strange      []mistake // what strangers did wrong, the latest last
}

type status struct {
	is    member.Status
	since time.Time
}

// A mistake is what somebody outside this cluster does again and again.
type mistake struct {
	what        member.WaitKind
	from        member.ID
	text        string
	since, last time.Time
}

const (
	// mistakesKept bounds how many strangers are remembered.
	mistakesKept = 16
	// mistakeOver is after how long without another a mistake counts as mended.
	mistakeOver = time.Minute
)

func (h *history) learn(now time.Time, o gossip.Output) {
	if h.began.IsZero() {
		h.began = now
	}
	for _, e := range o.Events {
		switch e := e.(type) {
		case gossip.Ignored:
			if e.Reason == gossip.WrongCluster || e.Reason == gossip.Outdated {
				h.note(now, member.WaitConfig, e.From, e.Text)
			}
		case gossip.JoinerRefused:
			h.note(now, member.WaitConfig, e.Joiner, "this node refused it: "+e.Text)
		case gossip.OtherCluster:
			h.note(now, member.WaitCluster, e.From, "it belongs to another cluster of the same name, "+e.ID.String())
		}
	}
	if o.View != nil {
		h.look(now, o.View)
	}
}

func (h *history) note(now time.Time, what member.WaitKind, from member.ID, text string) {
	made := mistake{what: what, from: from, since: now}
	same := func(m mistake) bool { return m.what == what && m.from.Address == from.Address }
	if i := slices.IndexFunc(h.strange, same); i >= 0 {
		made.since = h.strange[i].since
		h.strange = slices.Delete(h.strange, i, i+1)
	} else if len(h.strange) == mistakesKept {
		h.strange = slices.Delete(h.strange, 0, 1)
	}
	made.text, made.last = text, now
	h.strange = append(h.strange, made)
}

func (h *history) look(now time.Time, v *member.View) {
	switch {
	case v.Converged:
		h.unagreed = time.Time{}
	case h.unagreed.IsZero():
		h.unagreed = now
	}
	h.lookAtBlames(now, v.Observations)
	if len(v.Members) > 0 && shared(h.members, v.Members) {
		return
	}
	h.members = v.Members
	statuses := make(map[member.ID]status, len(v.Members))
	for _, m := range v.Members {
		statuses[m.ID] = status{m.Status, now}
		if s, ok := h.statuses[m.ID]; ok && s.is == m.Status {
			statuses[m.ID] = s
		}
	}
	h.statuses = statuses
}

func (h *history) lookAtBlames(now time.Time, observations []member.Observation) {
	if h.blames != nil && shared(h.observations, observations) {
		return
	}
	h.observations = observations
	blames := make(map[member.Observation]time.Time, len(observations))
	for _, o := range observations {
		blames[o] = now
		if since, ok := h.blames[o]; ok {
			blames[o] = since
		}
	}
	h.blames = blames
}

// shared tells whether two lists are the very same one, as they are in most views that
// follow each other: only who has seen them changes.
func shared[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// joining is since when the first of those that are not Up has been so; before
// this node is a member, since it began.
func (h *history) joining(v *member.View) time.Time {
	var since time.Time
	for _, m := range v.Members {
		if at := h.statuses[m.ID].since; m.Status == member.Joining || m.Status == member.WeaklyUp {
			since = earlier(since, at)
		}
	}
	if len(v.Members) == 0 {
		return h.began
	}
	return since
}

// mistakes are the states that somebody outside must end.
func (h *history) mistakes(now time.Time) []member.Wait {
	var waits []member.Wait
	for _, m := range h.strange {
		if now.Sub(m.last) > mistakeOver {
			continue
		}
		act := "whoever runs " + m.from.Address.String() + " must give it the settings of this cluster, or leave this cluster's nodes out of its seeds"
		if m.what == member.WaitCluster {
			act = "stop all nodes of one of the two clusters, and start them with the seeds of the other"
		}
		waits = append(waits, member.Wait{What: m.what, Why: m.text, Since: m.since, On: []member.Holdup{{Node: m.from, Why: "was heard last at " + clock(m.last)}}, Act: act})
	}
	slices.SortStableFunc(waits, func(a, b member.Wait) int { return cmp.Or(cmp.Compare(a.What, b.What), a.Since.Compare(b.Since)) })
	return waits
}

func (h *history) convergence(v *member.View, closing bool) []member.Wait {
	if v.Converged || len(v.Blocking) == 0 {
		return nil
	}
	w := member.Wait{What: member.WaitConvergence, Since: h.unagreed, Why: "not all members have agreed on the newest version of the membership"}
	for _, id := range v.Blocking {
		w.On = append(w.On, member.Holdup{Node: id, Why: h.blocks(v, id)})
		if !v.Reachable(id) {
			w.Why = "members that cannot be reached cannot agree: nobody comes up or is removed meanwhile"
			w.Act = "bring them back, wait for the split brain resolver, or down those that are dead by hand"
			if closing {
				w.Act = "stop all nodes: while the whole cluster shuts down nobody is downed but for a confirmed crash, and who leaves does not wait for them for ever"
			}
		}
	}
	return []member.Wait{w}
}

// crashWaits are the members of which somebody thinks that they have crashed.
func (c *Core) crashWaits() []member.Wait {
	var waits []member.Wait
	for _, s := range c.Suspicions() {
		w := member.Wait{
			What: member.WaitCrash, Since: s.Broke,
			Why: fmt.Sprintf("%s that %v has crashed; %d confirm it", votesIn(len(s.Votes)), s.Node.Address, s.Needed),
		}
		if !s.Broke.IsZero() {
			w.On = append(w.On, member.Holdup{Node: s.Node, Why: fmt.Sprintf("has refused %d attempts in a row since the link broke", s.Refused)})
		}
		for _, by := range s.Votes {
			w.On = append(w.On, member.Holdup{Node: by, Why: "votes for it"})
		}
		waits = append(waits, w)
	}
	return waits
}

func votesIn(n int) string {
	if n == 1 {
		return "1 vote is in"
	}
	return fmt.Sprintf("%d votes are in", n)
}

// blocks tells why a member holds up convergence.
func (h *history) blocks(v *member.View, id member.ID) string {
	why := ""
	for _, o := range v.Observations {
		if o.Subject == id {
			why = join(why, fmt.Sprintf("%v since %s", o.Observer.Address, clock(h.blames[o])))
		}
	}
	if why != "" {
		return "is unreachable for " + why
	}
	return "has not seen this version yet"
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// departures are the members that are on their way out.
func (h *history) departures(v *member.View) []member.Wait {
	var waits []member.Wait
	for _, m := range v.Members {
		w := member.Wait{What: member.WaitLeave, Since: h.statuses[m.ID].since}
		who := m.Address.String()
		if m.ID == v.Self {
			who = "this node"
		}
		switch m.Status {
		case member.Leaving:
			w.Why = who + " hands over what it has, and is Exiting once all have seen that it leaves"
		case member.Exiting:
			w.Why = who + " is removed once it has handed over and all have seen that"
			w.On = []member.Holdup{{Node: m.ID, Why: "must say that it has handed over"}}
		case member.Down:
			w.Why = who + " was downed and is removed once the others agree"
		default:
			continue
		}
		if !v.Converged {
			w.Why += ": see convergence"
		} else if !v.Leader.IsZero() && m.Status != member.Exiting {
			w.On = append(w.On, member.Holdup{Node: v.Leader, Why: "leads, and moves it on at its next look"})
		}
		waits = append(waits, w)
	}
	return waits
}

// shutdown is the end of the whole cluster, which all members must leave.
func (h *history) shutdown(v *member.View) member.Wait {
	w := member.Wait{What: member.WaitShutdown, Why: "the whole cluster shuts down: nobody joins, nothing is moved, and nobody is downed but for a confirmed crash", Act: "stop all nodes"}
	for _, m := range v.Members {
		w.On = append(w.On, member.Holdup{Node: m.ID, Why: "is " + m.Status.String()})
		if m.Status == member.PreparingForShutdown || m.Status == member.ReadyForShutdown {
			w.Since = earlier(w.Since, h.statuses[m.ID].since)
		}
	}
	return w
}

// clock shows a time of this node.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.0Z") }
