package membership

import (
	"cmp"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
)

// crashes is one node's part in telling a crash from silence. A process that dies
// closes its sockets, and its address refuses from then on; neither a cut cable
// nor a paused process does that.
//
// A node votes that a member has crashed when its link to it broke and, for the
// time of isolation since then or since anything spoke for the member, every
// attempt to reach it was refused. A majority of all members, the suspect
// counted, confirms: not by what they believe but by what each has tried. Voters
// came up once, so that the suspect knows all who may vote.
//
// The other half is for a member that lives behind something that refuses in its
// name. It sees the same links break: when so many are broken that the rest may
// be about to confirm its crash, it has to stop acting after half the time of
// isolation, see [Output].CutOff. In a cluster of two nobody can confirm.
//
// Silence about a member, however long, makes no vote.
type crashes struct {
	self      member.ID
	isolation time.Duration // zero: switched off
	suspects  []*suspicion  // by node: to which the link broke and was not made again
	votes     []vote        // by suspect and voter, own ones too
	doubts    []doubt       // whom this node has voted against lately
	deafSince time.Time     // the first refusal by the own listener of those without an answer between
	ballots   []gossip.CrashVote
	events    []gossip.Event

	changes   int          // of suspects and of when they were heard
	forgotten *member.View // the last one in which suspects and voters were looked for
	listed    []member.ID  // see list
	listedAt  int
	missing   missing
	cut       cut
}

// suspicion is about a member to which this node's link is broken, or about a node
// that is not known for a member yet: it may be one in the eyes of others.
type suspicion struct {
	node      member.ID
	in        bool // it has been a member here
	broke     time.Time
	heard     time.Time // last sign of life since, or when the link broke
	since     time.Time // the same, or another attempt that was not refused: from here on all were
	refused   int       // attempts since then
	voted     bool
	said      time.Time // the vote, last
	confirmed time.Time // when this node first counted a majority
}

// vote is what some member has said; it holds until then.
type vote struct {
	suspect, by member.ID
	until       time.Time
}

func (v vote) compare(o vote) int {
	return cmp.Or(v.suspect.Compare(o.suspect), v.by.Compare(o.by))
}

// doubt is that a vote of this node may still count somewhere, until then.
type doubt struct {
	about member.ID
	until time.Time
}

// A vote holds for so many times of isolation. It is said again in each, so one
// that is lost, or whose voter has fallen silent, does no harm. Its voter has doubts
// for one more, the time that a vote may take to arrive.
const (
	voteHolds  = 3
	doubtHolds = voteHolds + 1
)

// majority of so many members.
func majority(members int) int { return members/2 + 1 }

// step takes an input of the node, before the machine does.
func (k *crashes) step(now time.Time, v *member.View, in gossip.Input, quiet bool) {
	if k.isolation == 0 {
		return
	}
	k.forget(now, v)
	switch in := in.(type) {
	case gossip.LinkBroke:
		k.broke(now, v, in.Peer)
	case gossip.Dialed:
		k.dialed(now, v, in, quiet)
	case gossip.Received:
		k.heard(now, in.From)
		if ballot, ok := in.Msg.(gossip.CrashVote); ok {
			k.count(now, v, in.From, ballot)
		}
	default: // says nothing about links
	}
}

// forget drops what is over: suspects and votes of those that are no members any more.
func (k *crashes) forget(now time.Time, v *member.View) {
	if k.forgotten != v {
		k.forgetSuspects(v)
		k.votes = slices.DeleteFunc(k.votes, func(o vote) bool {
			_, suspect := v.Member(o.suspect)
			_, voter := v.Member(o.by)
			return !suspect || !voter
		})
		k.forgotten = v
	}
	k.doubts = slices.DeleteFunc(k.doubts, func(d doubt) bool { return !now.Before(d.until) })
	k.votes = slices.DeleteFunc(k.votes, func(o vote) bool { return !now.Before(o.until) })
}

func (k *crashes) forgetSuspects(v *member.View) {
	k.suspects = slices.DeleteFunc(k.suspects, func(s *suspicion) bool {
		m, there := v.Member(s.node)
		if s.in && !there || there && m.DataCenter != v.DataCenter {
			k.changes++
			return true
		}
		if there && !s.in {
			s.in = true
			k.changes++
		}
		return false
	})
}

func (k *crashes) find(id member.ID) (int, bool) {
	return slices.BinarySearchFunc(k.suspects, id, func(s *suspicion, id member.ID) int { return s.node.Compare(id) })
}

// isBroken tells whether this node's link to another one broke and was not made again.
func (k *crashes) isBroken(id member.ID) bool {
	_, broken := k.find(id)
	return broken
}

// strangers is how many suspects may be no members yet; the ones that were
// heard of last are kept.
const strangers = 32

func (k *crashes) broke(now time.Time, v *member.View, peer member.ID) {
	m, there := v.Member(peer)
	i, known := k.find(peer)
	if known || peer == k.self || there && m.DataCenter != v.DataCenter {
		return
	}
	k.suspects = slices.Insert(k.suspects, i, &suspicion{node: peer, in: there, broke: now, heard: now, since: now})
	k.changes++
	if !there {
		k.dropStranger()
	}
}

// dropStranger makes room when there are too many suspects that are no members.
func (k *crashes) dropStranger() {
	var count int
	var oldest *suspicion
	for _, s := range k.suspects {
		if s.in {
			continue
		}
		count++
		if oldest == nil || s.heard.Before(oldest.heard) {
			oldest = s
		}
	}
	if count > strangers {
		k.suspects = slices.DeleteFunc(k.suspects, func(s *suspicion) bool { return s == oldest })
		k.changes++
	}
}

// heard takes a sign of life. Messages from before the crash may arrive behind
// the news of the broken link, so it puts a vote off and does not end a suspicion.
func (k *crashes) heard(now time.Time, from member.ID) {
	if i, ok := k.find(from); ok {
		s := k.suspects[i]
		s.heard = now
		k.changes++
		k.spoken(now, s)
	}
}

// spoken notes that something spoke for a suspect, or at least not against it.
func (k *crashes) spoken(now time.Time, s *suspicion) {
	s.since, s.refused, s.confirmed = now, 0, time.Time{}
	if s.voted {
		s.voted = false
		k.say(now, s.node, true)
	}
}

func (k *crashes) dialed(now time.Time, v *member.View, in gossip.Dialed, quiet bool) {
	i, ok := k.find(in.Peer)
	if !ok {
		return
	}
	s := k.suspects[i]
	switch in.Result {
	case gossip.Answered:
		k.spoken(now, s)
		k.suspects = slices.Delete(k.suspects, i, i+1)
		k.changes++
	case gossip.Silent:
		k.spoken(now, s)
	case gossip.Refused, gossip.Replaced:
		s.refused++
		self, in := v.SelfMember()
		if quiet || !in || !mayVote(self) || now.Sub(s.since) < k.isolation || s.voted && now.Sub(s.said) < k.isolation {
			return
		}
		s.voted, s.said = true, now
		k.say(now, s.node, false)
	}
}

// say makes a vote of this node, and has it told to the others.
func (k *crashes) say(now time.Time, suspect member.ID, withdrawn bool) {
	ballot := gossip.CrashVote{Suspect: suspect, Withdrawn: withdrawn}
	if !withdrawn {
		k.doubts = slices.DeleteFunc(k.doubts, func(d doubt) bool { return d.about == suspect })
		k.doubts = append(k.doubts, doubt{suspect, now.Add(doubtHolds * k.isolation)})
	}
	k.ballots = append(k.ballots, ballot)
	k.note(now, k.self, ballot)
}

// count takes another member's vote.
func (k *crashes) count(now time.Time, v *member.View, by member.ID, ballot gossip.CrashVote) {
	voter, in := v.Member(by)
	suspect, there := v.Member(ballot.Suspect)
	if in && there && by != ballot.Suspect && voter.DataCenter == v.DataCenter && suspect.DataCenter == v.DataCenter {
		k.note(now, by, ballot)
	}
}

func (k *crashes) note(now time.Time, by member.ID, ballot gossip.CrashVote) {
	o := vote{ballot.Suspect, by, now.Add(voteHolds * k.isolation)}
	i, known := slices.BinarySearchFunc(k.votes, o, vote.compare)
	switch {
	case ballot.Withdrawn && known:
		k.votes = slices.Delete(k.votes, i, i+1)
	case ballot.Withdrawn:
		return
	case known:
		k.votes[i] = o
		return
	default:
		k.votes = slices.Insert(k.votes, i, o)
		k.forgotten = nil // it may be about a node that is no member
	}
	k.events = append(k.events, gossip.CrashVoted{Suspect: ballot.Suspect, By: by, Withdrawn: ballot.Withdrawn})
}

// verdict lists a suspect that this node has to down now, and who has voted so.
// The first voter does it at once, each next one when those before it have not: a
// version that several make at a time takes longer to agree on.
func (k *crashes) verdict(now time.Time, v *member.View) (suspect member.ID, by []member.ID, ok bool) {
	for _, s := range k.suspects {
		if _, there := v.Member(s.node); !there || !s.voted || slices.Contains(v.Crashed, s.node) {
			continue
		}
		by, members := tally(v, k.votes, s.node)
		switch {
		case len(by) < majority(members):
			s.confirmed = time.Time{}
			continue
		case s.confirmed.IsZero():
			s.confirmed = now
		}
		if rank := slices.Index(by, k.self); rank >= 0 && now.Sub(s.confirmed) >= time.Duration(rank)*k.isolation {
			return s.node, by, true
		}
	}
	return member.ID{}, nil, false
}

// tally lists in order whose votes about a suspect count, and of how many
// members they have to be the majority: of all in the data center, in whatever
// status.
func tally(v *member.View, votes []vote, suspect member.ID) (by []member.ID, members int) {
	for _, m := range v.Members {
		if m.DataCenter != v.DataCenter {
			continue
		}
		members++
		if _, voted := slices.BinarySearchFunc(votes, vote{suspect: suspect, by: m.ID}, vote.compare); voted && mayVote(m) && m.ID != suspect {
			by = append(by, m.ID)
		}
	}
	return by, members
}

// mayVote: everybody has agreed on a member that came up, the suspect too.
func mayVote(m member.Member) bool { return m.UpNumber != member.NeverUp && m.Status != member.Down }

// deaf takes the result of dialing the own listener: true when it was refused
// for the time of isolation.
func (k *crashes) deaf(now time.Time, result gossip.DialResult) bool {
	switch {
	case result != gossip.Refused:
		k.deafSince = time.Time{}
	case k.deafSince.IsZero():
		k.deafSince = now
	default:
		return now.Sub(k.deafSince) >= k.isolation
	}
	return false
}
