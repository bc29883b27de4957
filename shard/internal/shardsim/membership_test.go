package shardsim

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A membership is the oracle: it changes one thing at a time, and the next only
// when all who run have heard of it, as convergence does. Each node hears of it
// at its own time, so two nodes may think of themselves as the oldest.
type membership struct {
	members     []member.Member
	unreachable []member.ID
	departed    []member.Departure
	ages        int
	changes     []func()
	busy        bool
}

// change queues an edit of the membership.
func (w *world) change(edit func()) {
	w.views.changes = append(w.views.changes, edit)
	if !w.views.busy {
		w.nextChange()
	}
}

func (w *world) nextChange() {
	v := &w.views
	if v.busy = len(v.changes) > 0; !v.busy {
		return
	}
	v.changes[0]()
	v.changes = v.changes[1:]
	slices.SortFunc(v.members, func(a, b member.Member) int { return a.ID.Compare(b.ID) })
	slices.SortFunc(v.unreachable, member.ID.Compare)
	var last time.Duration
	for _, n := range w.nodes {
		if n.dead {
			continue
		}
		view := &member.View{
			Self: n.id, DataCenter: "dc",
			Members: slices.Clone(v.members), Unreachable: slices.Clone(v.unreachable), Departed: slices.Clone(v.departed),
		}
		late := w.upTo(w.faults.gossip)
		if n.doomed { // nobody waits for it; the margin is for its sake
			late += w.upTo(6 * time.Second)
		} else {
			last = max(last, late)
		}
		w.at(n, n.inLane("views", w.now.Add(late)), func() { n.see(view) })
	}
	w.after(last+time.Millisecond, w.nextChange)
}

func (w *world) setStatus(id member.ID, status member.Status) {
	for i := range w.views.members {
		if m := &w.views.members[i]; m.ID == id {
			m.Status = status
			if status == member.Up {
				w.views.ages++
				m.UpNumber = w.views.ages
			}
			w.note("%s is %s", id.Host, status)
		}
	}
}

func (w *world) isMember(id member.ID) bool {
	return slices.ContainsFunc(w.views.members, func(m member.Member) bool { return m.ID == id })
}

func (w *world) remove(id member.ID, end member.End) {
	w.note("%s is removed", id.Host)
	w.views.members = slices.DeleteFunc(w.views.members, func(m member.Member) bool { return m.ID == id })
	w.views.unreachable = slices.DeleteFunc(w.views.unreachable, func(o member.ID) bool { return o == id })
	w.views.departed = append(w.views.departed, member.Departure{ID: id, End: end})
	slices.SortFunc(w.views.departed, func(a, b member.Departure) int { return a.Compare(b.ID) })
}

// join adds a node; roles decide whether it hosts or only routes. It may be a
// member for a while before it joins the type.
func (w *world) join(roles ...string) {
	n := w.newNode()
	if w.chance(w.faults.late) {
		w.at(n, w.now.Add(w.upTo(5*time.Second)), n.join)
	} else {
		n.join()
	}
	w.change(func() {
		w.views.members = append(w.views.members, member.Member{
			ID: n.id, Status: member.Joining, UpNumber: member.NeverUp, Roles: roles, DataCenter: "dc",
		})
		w.note("%s joins %v", n.id.Host, roles)
	})
	w.change(func() { w.setStatus(n.id, member.Up) })
}

// leave makes a node go in good order: it is removed when it says it is clear.
func (w *world) leave(n *node) {
	if n.leaving || n.dead {
		return
	}
	n.leaving, n.leftAt = true, time.Time{}
	began := w.now
	w.change(func() {
		w.setStatus(n.id, member.Leaving)
		w.at(n, w.now.Add(w.upTo(w.faults.gossip)), n.leave)
	})
	w.change(func() { w.setStatus(n.id, member.Exiting) })
	var exit func()
	exit = func() {
		switch {
		case n.dead:
		case !n.left && w.now.Before(began.Add(time.Minute)):
			w.after(20*time.Millisecond, exit)
		default:
			w.ledger.left(n, w.now.Sub(began))
			n.outlived = n.underway()
			w.change(func() { n.end("has left"); w.remove(n.id, member.Exited) })
		}
	}
	w.after(time.Millisecond, exit)
}

// crash ends a node at once; the others find out.
func (w *world) crash(n *node) {
	n.end("crashes")
	w.bury(n)
}

// mistake makes the others down a node that runs; it stops itself when it hears.
func (w *world) mistake(n *node) {
	n.doomed = true
	w.note("%s is taken for dead", n.id.Host)
	w.bury(n)
}

func (w *world) bury(n *node) {
	w.after(w.detect/4+w.upTo(w.detect), func() {
		w.change(func() {
			if w.isMember(n.id) {
				w.views.unreachable = append(w.views.unreachable, n.id)
				w.note("%s is unreachable", n.id.Host)
			}
		})
		w.after(w.upTo(3*w.detect/2), func() {
			w.change(func() { w.setStatus(n.id, member.Down) })
			w.change(func() { w.remove(n.id, member.Downed) })
		})
	})
}
