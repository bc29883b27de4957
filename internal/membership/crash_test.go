package membership

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
)

const isolation = 500 * time.Millisecond

// refused has a node dial a peer every 50 ms for a while, in vain.
func (w *world) refused(i, peer int, during time.Duration) {
	for range during / (50 * time.Millisecond) {
		w.run(50 * time.Millisecond)
		w.step(i, gossip.Dialed{Peer: w.ids[peer], Result: gossip.Refused})
	}
}

// dies ends a node, whose peers all notice.
func (w *world) dies(who int) {
	w.dead[who] = true
	for i := range w.cores {
		w.step(i, gossip.LinkBroke{Peer: w.ids[who]})
	}
}

// seen is the status of a node in the view of another; zero when it is removed.
func (w *world) seen(by, who int) member.Status {
	m, _ := w.cores[by].Machine().View().Member(w.ids[who])
	return m.Status
}

func TestCrashIsConfirmedByMajority(t *testing.T) {
	for _, who := range []int{0, 1, 2} {
		w := newWorld(3, sbr.Settings{})
		w.dies(who)
		var others []int
		for i := range 3 {
			if i != who {
				others = append(others, i)
			}
		}
		start := w.now
		for w.seen(others[0], who) != 0 && w.now.Sub(start) < time.Minute {
			w.run(50 * time.Millisecond)
			for _, i := range others {
				w.step(i, gossip.Dialed{Peer: w.ids[who], Result: gossip.Refused})
			}
		}
		if took, want := w.now.Sub(start), isolation+isolation/10; took != want { // the votes are counted at the next attempt
			t.Errorf("node %d was removed %v after its crash, want %v", who, took, want)
		}
		if status := w.seen(others[1], who); status != 0 {
			t.Errorf("node %d is %v for node %d, want removed", who, status, others[1])
		}
	}
}

// Each line is a story about node 2 as the other two live it, and ends with
// whether it was downed within a second.
func TestWhatSpeaksForACrash(t *testing.T) {
	refused, silent, answered := gossip.Refused, gossip.Silent, gossip.Answered
	tests := map[string]struct {
		broke  []int // whose link to node 2 breaks
		result map[int]gossip.DialResult
		alter  func(w *world)
		down   bool
	}{
		"refused":                      {[]int{0, 1}, map[int]gossip.DialResult{0: refused, 1: refused}, nil, true},
		"replaced":                     {[]int{0, 1}, map[int]gossip.DialResult{0: refused, 1: gossip.Replaced}, nil, true},
		"refused to one only":          {[]int{0, 1}, map[int]gossip.DialResult{0: refused, 1: silent}, nil, false},
		"answers one":                  {[]int{0, 1}, map[int]gossip.DialResult{0: refused, 1: answered}, nil, false},
		"silent":                       {[]int{0, 1}, map[int]gossip.DialResult{0: silent, 1: silent}, nil, false},
		"refused, but one link stayed": {[]int{0}, map[int]gossip.DialResult{0: refused, 1: refused}, nil, false},
		"no link broke":                {nil, map[int]gossip.DialResult{0: refused, 1: refused}, nil, false},
		"heard from": {[]int{0, 1}, map[int]gossip.DialResult{0: refused, 1: refused}, func(w *world) {
			w.step(0, gossip.Received{From: w.ids[2], Msg: gossip.ExitingConfirmed{}})
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(3, sbr.Settings{})
			w.dead[2] = true
			for _, i := range tt.broke {
				w.step(i, gossip.LinkBroke{Peer: w.ids[2]})
			}
			for range 20 {
				w.run(50 * time.Millisecond)
				for i, result := range tt.result {
					w.step(i, gossip.Dialed{Peer: w.ids[2], Result: result})
				}
				if tt.alter != nil {
					tt.alter(w)
				}
			}
			if down := w.seen(0, 2) != member.Up; down != tt.down {
				t.Errorf("downed %v, want %v: %+v", down, tt.down, w.cores[0].Suspicions())
			}
		})
	}
}

// A member whose port refuses in its name still reaches the others, and has told
// somebody that it reaches nobody.
func TestNobodyIsCutOffOnTheWordOfTheLost(t *testing.T) {
	now := time.Unix(1000, 0)
	observed := func(observer, subject int) member.Observation {
		return member.Observation{Observer: node(observer), Subject: node(subject)}
	}
	tests := []struct {
		name         string
		observations []member.Observation
		silent       []member.ID // who owe this node answers
		want         bool
	}{
		{"nobody else is missed", nil, nil, false},
		{"another one has fallen silent", nil, []member.ID{node(3)}, false},
		{"two others have fallen silent", nil, []member.ID{node(2), node(3)}, true},
		{"this node misses one, and another has fallen silent", []member.Observation{observed(0, 2)}, []member.ID{node(3)}, true},
		{"the one whose link broke misses all others", []member.Observation{observed(4, 1), observed(4, 2), observed(4, 3)}, nil, false},
		{"one that is silent here misses all others", []member.Observation{observed(0, 3), observed(3, 1), observed(3, 2)}, nil, false},
		{"this node misses two more", []member.Observation{observed(0, 2), observed(0, 3)}, nil, true},
		{"one in touch misses two more", []member.Observation{observed(1, 2), observed(1, 3)}, nil, true},
	}
	for _, tt := range tests {
		k := &crashes{self: node(0), isolation: isolation}
		v := viewOf(5, 0)
		k.step(now, v, gossip.LinkBroke{Peer: node(4)}, false)
		v.Observations = tt.observations
		for _, o := range tt.observations {
			v.Unreachable = append(v.Unreachable, o.Subject)
		}
		if got := !k.cutOff(v, tt.silent).IsZero(); got != tt.want {
			t.Errorf("%s: node 0 is cut off: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Links broke to nodes that this one did not know for members then, or for members that came up:
// to the others they may be voters by now.
func TestLinkThatBrokeBeforeItsNodeJoinedCounts(t *testing.T) {
	now := time.Unix(1000, 0)
	k := &crashes{self: node(0), isolation: isolation}
	all := viewOf(5, 0)
	before := *all
	before.Members = slices.Clone(all.Members[:3]) // 3 and 4 are not in yet
	for _, i := range []int{2, 3, 4} {
		k.step(now, &before, gossip.LinkBroke{Peer: node(i)}, false)
	}
	if at := k.cutOff(&before, nil); !at.IsZero() {
		t.Errorf("of 3 members one is lost: cut off at %v, want never", at)
	}
	for _, i := range []int{3, 4} {
		all.Members[i].Status, all.Members[i].UpNumber = member.Joining, member.NeverUp
	}
	k.step(now.Add(time.Second), all, gossip.Tick{}, false)
	if got, want := k.cutOff(all, nil), now.Add(isolation/2); !got.Equal(want) {
		t.Errorf("of 5 members three are lost: cut off at %v, want %v", got, want)
	}
	for i := range 2 * strangers {
		k.step(now, all, gossip.LinkBroke{Peer: node(100 + i)}, false)
	}
	if len(k.suspects) > 3+strangers {
		t.Errorf("%d suspicions are kept, want at most %d", len(k.suspects), 3+strangers)
	}
}

func TestTwoNodesNeverConfirm(t *testing.T) {
	w := newWorld(2, sbr.Settings{})
	w.dies(1)
	w.refused(0, 1, 3*time.Second)
	if status := w.seen(0, 1); status != member.Up {
		t.Errorf("node 1 is %v after 3 s, want Up: silence decides in a cluster of two", status)
	}
	if out := w.cores[0].Step(w.now, gossip.Tick{}); !out.CutOff.IsZero() {
		t.Errorf("node 0 is to stop acting at %v, but nobody can confirm its crash", out.CutOff)
	}
}

func TestCrashDetectionSwitchedOff(t *testing.T) {
	k := crashes{self: node(0)}
	v := viewOf(3, 0)
	k.step(time.Time{}, v, gossip.LinkBroke{Peer: node(2)}, false)
	k.step(time.Time{}, v, gossip.Received{From: node(1), Msg: gossip.CrashVote{Suspect: node(2)}}, false)
	if len(k.suspects)+len(k.votes)+len(k.ballots) != 0 {
		t.Errorf("suspects %v, votes %v, ballots %v; want none", k.suspects, k.votes, k.ballots)
	}
}

// A vote is taken back when its subject is heard from, and lapses when it is not
// repeated.
func TestVotesAreWithdrawnAndLapse(t *testing.T) {
	w := newWorld(5, sbr.Settings{})
	w.dead[4] = true
	w.step(0, gossip.LinkBroke{Peer: w.ids[4]})
	w.refused(0, 4, time.Second)
	votes := func(at int) int {
		for _, s := range w.cores[at].Suspicions() {
			if s.Node == w.ids[4] {
				return len(s.Votes)
			}
		}
		return 0
	}
	if got := votes(3); got != 1 {
		t.Fatalf("node 3 knows of %d votes, want 1", got)
	}
	w.step(0, gossip.Received{From: w.ids[4], Msg: gossip.ExitingConfirmed{}})
	if got := votes(3); got != 0 {
		t.Errorf("node 3 knows of %d votes after node 4 was heard from, want 0", got)
	}
	w.refused(0, 4, time.Second)
	w.dead[0] = true
	w.run(voteHolds*isolation + 100*time.Millisecond)
	w.step(3, gossip.Tick{})
	if got := votes(3); got != 0 {
		t.Errorf("node 3 knows of %d votes long after its voter fell silent, want 0", got)
	}
}

// A node that was not running for a while has nothing to say against others.
func TestStalledNodeWithholdsVotes(t *testing.T) {
	w := newWorld(3, sbr.Settings{})
	w.dead[1], w.dead[2] = true, true
	w.now = w.now.Add(5 * time.Second)
	w.step(0, gossip.LinkBroke{Peer: w.ids[2]})
	w.refused(0, 2, 2*time.Second)
	if s := w.cores[0].Suspicions(); len(s) != 1 || len(s[0].Votes) != 0 || s[0].Refused == 0 {
		t.Errorf("suspicions %+v, want node 2 without a vote", s)
	}
}

// What an observer of the last five members in a cluster knows.
func node(i int) member.ID {
	return member.ID{Address: member.Address{Host: fmt.Sprintf("n%d", i), Port: 1}, UID: int64(i + 1)}
}

func viewOf(size, self int) *member.View {
	v := &member.View{Self: node(self)}
	for i := range size {
		v.Members = append(v.Members, member.Member{ID: node(i), Status: member.Up, UpNumber: i + 1})
	}
	return v
}

// Every set of members that may see a node's link break and its address refuse,
// in clusters of up to six: if they are enough to confirm its crash, the node itself
// sees so many links broken that it stops acting before. The others hear silence.
func TestNobodyIsConfirmedBeforeItStopsActing(t *testing.T) {
	start := time.Unix(1000, 0)
	for size := 2; size <= 6; size++ {
		suspect := size - 1
		for refusers := range 1 << suspect {
			now := start
			cores := make([]*crashes, size)
			for i := range cores {
				cores[i] = &crashes{self: node(i), isolation: isolation}
			}
			at := func(i int) bool { return refusers&(1<<i) != 0 }
			for i := range suspect {
				if at(i) {
					cores[i].step(now, viewOf(size, i), gossip.LinkBroke{Peer: node(suspect)}, false)
					cores[suspect].step(now, viewOf(size, suspect), gossip.LinkBroke{Peer: node(i)}, false)
				}
			}
			var confirmed time.Time
			for range 30 {
				now = now.Add(50 * time.Millisecond)
				for i := range suspect {
					result := gossip.Silent
					if at(i) {
						result = gossip.Refused
					}
					cores[i].step(now, viewOf(size, i), gossip.Dialed{Peer: node(suspect), Result: result}, false)
					for _, ballot := range cores[i].ballots {
						for j := range suspect {
							cores[j].step(now, viewOf(size, j), gossip.Received{From: node(i), Msg: ballot}, false)
						}
					}
					cores[i].ballots = nil
				}
				for i := range suspect {
					if _, _, ok := cores[i].verdict(now, viewOf(size, i)); ok && confirmed.IsZero() {
						confirmed = now
					}
				}
			}
			voters := 0
			for i := range suspect {
				if at(i) {
					voters++
				}
			}
			cutOff := cores[suspect].cutOff(viewOf(size, suspect), nil)
			enough := voters >= majority(size)
			if confirmed.IsZero() == enough {
				t.Errorf("%d of %d refuse (%06b): confirmed at %v", voters, size, refusers, confirmed)
			}
			if enough && (cutOff.IsZero() || !cutOff.Before(confirmed)) {
				t.Errorf("%d of %d refuse (%06b): confirmed at %v, but it stops acting at %v", voters, size, refusers, confirmed.Sub(start), cutOff.Sub(start))
			}
			if !enough && !cutOff.IsZero() {
				t.Errorf("%d of %d refuse (%06b): nobody can confirm, but it stops acting", voters, size, refusers)
			}
		}
	}
}

// Random inputs to a few nodes: whatever comes, silence and a minority confirm nothing,
// and who did not come up has no vote.
func TestVotesThatDoNotCount(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		size := 3 + r.IntN(5)
		v := viewOf(size, 0)
		var votes []vote
		counted := 0
		for i := range size - 1 {
			switch r.IntN(4) {
			case 0:
				v.Members[i].Status, v.Members[i].UpNumber = member.Joining, member.NeverUp
			case 1:
				v.Members[i].Status = member.Down
			}
			if r.IntN(2) == 0 {
				continue
			}
			votes = append(votes, vote{suspect: node(size - 1), by: node(i)})
			if v.Members[i].Status == member.Up {
				counted++
			}
		}
		votes = append(votes, vote{suspect: node(size - 1), by: node(size - 1)}, vote{suspect: node(size - 1), by: node(size + 1)})
		slices.SortFunc(votes, vote.compare)
		if by, members := tally(v, votes, node(size-1)); len(by) != counted || members != size {
			t.Fatalf("%d votes of %d members count, want %d of %d: %v in %+v", len(by), members, counted, size, votes, v.Members)
		}
	}
}

func TestNodeThatLosesItsListenerDownsItself(t *testing.T) {
	w := newWorld(3, sbr.Settings{})
	w.refused(2, 2, 300*time.Millisecond)
	w.step(2, gossip.Dialed{Peer: w.ids[2], Result: gossip.Answered})
	w.refused(2, 2, 450*time.Millisecond)
	if w.dead[2] {
		t.Fatal("node 2 has ended, but its listener had answered in between")
	}
	w.refused(2, 2, 200*time.Millisecond)
	if status := w.seen(0, 2); status != member.Down && status != 0 {
		t.Errorf("node 2 is %v for node 0, want Down", status)
	}
	w.run(5 * time.Second)
	if !w.dead[2] {
		t.Error("node 2 has not ended")
	}
}

// A process that was killed is started again at once, and asks each second to be
// let in: before that, the others confirm the crash, so that nobody rests a margin.
func TestRestartAtOnceIsAConfirmedCrash(t *testing.T) {
	for _, tt := range []struct {
		size    int
		crashed bool // confirmed before the new incarnation is in
		in      time.Duration
	}{
		{size: 2, crashed: false, in: 0}, // nobody can confirm: there is nothing to wait for
		{size: 3, crashed: true, in: time.Second},
		{size: 5, crashed: true, in: time.Second},
	} {
		w := newWorld(tt.size, sbr.Settings{})
		who := tt.size - 1
		old, again := w.ids[who], member.ID{Address: w.ids[who].Address, UID: 100}
		w.dies(who)
		start := w.now
		w.ids[who], w.dead[who] = again, false
		w.cores[who] = New(Config{Gossip: gossip.Config{Self: again, Cluster: "test", Rand: rand.New(rand.NewPCG(9, 9))}})
		w.step(who, gossip.JoinAddress{Address: w.ids[0].Address})
		for w.seen(0, who) == 0 && w.now.Sub(start) < 10*time.Second {
			w.run(50 * time.Millisecond)
			for i := range who {
				w.step(i, gossip.Dialed{Peer: old, Result: gossip.Replaced})
			}
		}
		if took := w.now.Sub(start); took != tt.in {
			t.Errorf("of %d: the new incarnation was let in after %v, want %v", tt.size, took, tt.in)
		}
		w.run(5 * time.Second)
		for i := range who {
			v := w.cores[i].Machine().View()
			if _, there := v.Member(old); there || v.Ended(old) != tt.crashed {
				t.Errorf("of %d: node %d has the old incarnation among the members %v, among the crashed %v; want false, %v",
					tt.size, i, there, v.Ended(old), tt.crashed)
			}
		}
		if m, ok := w.cores[0].Machine().View().Member(again); !ok || m.Status != member.Up {
			t.Errorf("of %d: the new incarnation is %v, want Up", tt.size, m.Status)
		}
	}
}
