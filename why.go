package troupe

import (
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/transport"
)

// Names for what a node waits for.
type (
	// A Wait is something that a node waits for, or a state that lasts until
	// somebody acts.
	Wait = member.Wait
	// A Holdup is a node for which something waits, and why.
	Holdup = member.Holdup
	// A WaitKind names what is waited for.
	WaitKind = member.WaitKind
)

// Why is the answer of one node to the question what it waits for.
type Why struct {
	Self   ID
	Status Status // of this node; zero while it is no member
	At     time.Time
	Waits  []Wait // causes before what they cause; empty when all is well
}

// Why tells what this node waits for: what blocks a join, convergence, a leave,
// or a decision about members that cannot be reached, since when, until when, and
// who must act. Once the node has ended it waits for nothing.
func (n *Node) Why() Why {
	w := Why{Self: n.id, At: time.Now()}
	n.onOwner(func() { w.Waits = n.core.Why(w.At) })
	if self, in := n.View().SelfMember(); in {
		w.Status = self.Status
	}
	links := n.Links()
	explainJoin(w.Waits, links.Links)
	for _, more := range [][]Wait{n.pulse.waits(), n.seeker.storeTrouble.Load().waits(), certificateWaits(links.Certificate), n.progress.waits()} {
		w.Waits = append(w.Waits, more...)
	}
	return w
}

// explainJoin adds to whom a join waits for what keeps this node's link to it
// from being made: the membership knows only that it does not answer.
func explainJoin(waits []Wait, links []transport.LinkStats) {
	broken := map[Address]transport.LinkStats{}
	for _, l := range links {
		if l.Peer.UID == 0 && l.Failures > 0 && l.State != "up" && l.LastError != "" {
			broken[l.Peer.Address] = l
		}
	}
	for _, w := range waits {
		if w.What != member.WaitJoin {
			continue
		}
		for i, on := range w.On {
			l, is := broken[on.Node.Address]
			if !is || on.Node.UID != 0 {
				continue
			}
			w.On[i].Why += ": " + l.LastError
			if l.Advice != "" {
				w.On[i].Why += "; to do: " + l.Advice
			}
		}
	}
}

// certificateWaits tells what somebody has to do about this node's certificate,
// nil when it has none.
func certificateWaits(c *transport.Certificate) []Wait {
	if c == nil || c.State == transport.CertificateValid && c.Problem == "" {
		return nil
	}
	w := Wait{
		What: member.WaitCertificate, Until: c.NotAfter,
		Why: fmt.Sprintf("the certificate of %s is %s", c.File, c.State),
		Act: "renew it and write it to that file, which is read again while the node runs",
	}
	switch {
	case c.Problem != "":
		w.Why += ", and the file as it is now cannot take its place: " + c.Problem
	case c.State == transport.CertificateEarly:
		w.Until, w.Act = c.NotBefore, "set the clock, or wait"
	case c.State == transport.CertificateExpired:
		w.Since, w.Until = c.NotAfter, time.Time{}
	}
	return []Wait{w}
}

// String tells it in plain words, several lines.
func (w Why) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is ", w.Self.Address)
	if w.Status == 0 {
		b.WriteString("no member")
	} else {
		b.WriteString(w.Status.String())
	}
	if len(w.Waits) == 0 {
		b.WriteString(" and waits for nothing\n")
		return b.String()
	}
	b.WriteByte('\n')
	for _, x := range w.Waits {
		b.WriteString("\n" + x.Text(w.At))
	}
	return b.String()
}

// waits tells since when this node does not act.
func (p *pulse) waits() []Wait {
	h := p.held.Load()
	if h == nil {
		return nil
	}
	return []Wait{{
		What: member.WaitPause, Since: p.began.Add(h.since),
		Why: h.why() + ", and it holds everything until a majority of the members says that it is still one of them",
	}}
}
