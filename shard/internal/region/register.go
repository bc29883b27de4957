package region

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A link is what a region knows of coordinators. The one it obeys is the one
// whose claim it accepted; the one it expects is the one that its own view of
// the membership names. They differ while a coordinator is being replaced.
type link struct {
	arrival
	floor     uint64 // terms below it are over
	term      uint64 // the highest accepted
	obeyed    member.ID
	seq       uint64    // of the newest message obeyed
	accepted  bool      // the obeyed one has confirmed our report of this term
	disagrees bool      // it has other settings
	expected  member.ID // zero when there is nobody
	joined    bool      // this node has been a member
	without   time.Time // since when the expected one has not joined the type, or nobody may take what is here; zero when that is not so

	reportDue time.Time
	reportGap time.Duration
}

// Term is the highest that this region has accepted.
func (c *Core) Term() uint64 { return c.link.term }

// Coordinator is the node that this region obeys; zero before the first.
func (c *Core) Coordinator() member.ID { return c.link.obeyed }

// Registered tells whether the coordinator that the membership names has this
// region's report: homes are being asked for and given.
func (c *Core) Registered() bool {
	l := &c.link
	return l.accepted && !l.expected.IsZero() && l.obeyed == l.expected
}

// Disagrees tells whether the coordinator has other settings than this region:
// what waits for homes here waits in vain.
func (c *Core) Disagrees() bool { return c.link.disagrees }

func (c *Core) unregistered() bool { return !c.link.expected.IsZero() && !c.Registered() }

func (c *Core) viewChanged(now time.Time, v *member.View) {
	dead := crashed(c.view, v)
	c.view = v
	self, ok := v.SelfMember()
	if self.Status == member.Down || c.link.joined && !ok {
		c.end()
		return
	}
	c.link.joined = ok
	c.arrive(now)
	if self.Status == member.Leaving || self.Status == member.Exiting {
		c.leave(now)
	}
	c.forgetTheDead(now, dead)

	if expected := c.authority(); expected != c.link.expected {
		c.link.expected, c.link.without = expected, time.Time{}
		if c.unregistered() {
			c.hurry(now)
		}
	}
	c.beatAt = now // a leave may have become lonely, a report due
}

// authority is the node that decides for this region, by its own view; zero when
// there is none.
func (c *Core) authority() member.ID {
	if c.set.Own {
		self, _ := c.view.SelfMember()
		return self.ID
	}
	oldest, _ := c.view.Oldest(c.set.Role, member.Up)
	return oldest.ID
}

// crashed lists the members that went from one view to the next and will be
// heard no more. One that exited in good order is not among them: it has sent all
// it owed, and its last messages may be slower than the news of its removal.
func crashed(before, after *member.View) []member.ID {
	if before == nil {
		return nil
	}
	var dead []member.ID
	for _, m := range before.Members {
		now, ok := after.Member(m.ID)
		end, _ := after.End(m.ID)
		if ok && now.Status == member.Down || !ok && end != member.Exited {
			dead = append(dead, m.ID)
		}
	}
	return dead
}

// end is for a node that is not one of the cluster any more: others may start
// its shards as soon as their margin has passed.
func (c *Core) end() {
	c.over = true
	for _, s := range c.sorted() {
		if s.tenancy != nil {
			c.do(Kill{Shard: s.name})
		}
	}
}

// lives tells whether id is a member that was not downed.
func (c *Core) lives(id member.ID) bool {
	if c.view == nil {
		return false
	}
	m, ok := c.view.Member(id)
	return ok && m.Status != member.Down && m.Status != member.Removed
}

// obeys decides whether a coordinator's message counts: terms make that safe,
// whatever the membership says about who should be coordinator.
func (c *Core) obeys(now time.Time, from member.ID, order protocol.Order) bool {
	l, h := &c.link, order.Head()
	switch {
	case c.set.Own && from != c.self:
		c.disagreeWith(from, order)
		return false
	case !l.arrived():
		return false // it is said again
	}
	switch _, claim := order.(protocol.Claim); {
	case h.Term == l.term && from == l.obeyed:
		if h.Seq <= l.seq {
			return false // overtaken, or a repeat
		}
	case h.Term > l.term && h.Term >= l.floor && claim:
		c.accept(now, from, h.Term)
	case h.Term > l.term && h.Term >= l.floor:
		return false // its claim is still on the way
	default:
		c.say(from, c.refusal())
		return false
	}
	l.seq = h.Seq
	return true
}

// disagreeWith tells a coordinator of a type that has a ring here that it need not
// wait for this region, and that the two declare the type differently. As long as
// anything is hosted here it has to wait.
func (c *Core) disagreeWith(coordinator member.ID, order protocol.Order) {
	if _, claim := order.(protocol.Claim); claim && !c.hosts() {
		c.say(coordinator, protocol.Report{Term: order.Head().Term, Coordinator: coordinator, Agree: c.set.Agree, Proxy: true})
	}
}

func (c *Core) refusal() protocol.Refused {
	l := &c.link
	if l.term < l.floor {
		return protocol.Refused{Highest: l.floor}
	}
	return protocol.Refused{Highest: l.term, Coordinator: l.obeyed}
}

// accept begins a new term: what the old coordinator had only begun is void.
func (c *Core) accept(now time.Time, from member.ID, term uint64) {
	l := &c.link
	l.term, l.obeyed, l.seq, l.accepted, l.disagrees = term, from, 0, false, false
	c.hurry(now)
	if from != c.self {
		c.say(c.self, c.refusal()) // this node's own coordinator, if it thinks it is one
	}
	for _, s := range c.shards { // any order: nothing is put out
		s.next = nil
		if s.tenancy != nil && s.tenancy.stage == marking {
			s.tenancy.stage, s.tenancy.expect = hosting, nil
		}
	}
}

// report tells a coordinator all that it must know of this region.
func (c *Core) report(now time.Time, to member.ID) {
	l := &c.link
	self, _ := c.view.SelfMember()
	r := protocol.Report{
		Term: l.term, Coordinator: l.obeyed,
		Agree: c.set.Agree, Proxy: !self.HasRole(c.set.Role), Leaving: c.leaving || c.spared, Wishes: c.keptWishes(),
	}
	for _, s := range c.sorted() {
		switch t := s.tenancy; {
		case t != nil:
			r.Hosted = append(r.Hosted, protocol.Hosted{Tenure: s.at(t.epoch), Draining: t.stage >= draining})
		case s.owed:
			r.Released = append(r.Released, s.at(s.ended))
		}
	}
	c.say(to, r)
	l.reportDue = now.Add(l.reportGap)
}

// hurry starts the reports over: at once, then after ever longer gaps.
func (c *Core) hurry(now time.Time) {
	c.link.reportDue, c.link.reportGap = now, c.set.Retry/8
}

func (c *Core) reportAgain(now time.Time) {
	l := &c.link
	if !c.unregistered() || !l.arrived() || now.Before(l.reportDue) {
		return
	}
	c.report(now, l.expected)
	l.reportGap = min(2*max(l.reportGap, c.set.Retry/8), c.set.Retry)
}

// disagree ends the waits for homes: the coordinator's are of other shards.
func (c *Core) disagree() {
	c.link.disagrees = true
	for _, s := range c.shards { // any order: nothing is put out
		s.wanted = false
	}
}

// registered: the coordinator has the report; now it can be asked.
func (c *Core) registered(now time.Time) {
	c.link.accepted, c.staying = true, false
	for _, s := range c.sorted() {
		s.askDue, s.stopDue = now, now
		c.ask(now, s)
		c.tellStopped(now, s)
	}
}

// absent notes that a node has not joined the type; present, that it has.
func (l *link) absent(now time.Time, id member.ID) {
	if id == l.expected {
		l.deserted(now, true)
	}
}

func (l *link) present(id member.ID, own bool) {
	if id == l.expected && !own {
		l.without = time.Time{}
	}
}

// deserted notes whether nobody may take what is here.
func (l *link) deserted(now time.Time, on bool) {
	switch {
	case !on:
		l.without = time.Time{}
	case l.without.IsZero():
		l.without = now
	}
}

// uncoordinated tells of a leaving node whether nobody will place what it has: whoever
// should coordinate has not joined the type, and has had time to (UPG-02).
func (c *Core) uncoordinated(now time.Time) bool {
	since := c.link.without
	if since.IsZero() || !c.leaving {
		return false
	}
	if since.Before(c.leftAt) {
		since = c.leftAt
	}
	return !now.Before(since.Add(2 * c.set.Retry))
}
