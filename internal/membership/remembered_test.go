package membership

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
)

// What is remembered of the last answer never differs from what is found anew.
func TestRememberedCutOffIsTheOneOfNow(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		now := time.Unix(1000, 0)
		k := &crashes{self: node(0), isolation: isolation}
		v := viewOf(4+rng.IntN(7), 0)
		for range 60 {
			now = now.Add(time.Duration(rng.IntN(400)) * time.Millisecond)
			if rng.IntN(4) == 0 {
				v = drawView(rng, v)
			}
			k.step(now, v, drawInput(rng, len(v.Members)), false)
			var silent []member.ID
			if rng.IntN(3) == 0 {
				silent = []member.ID{node(1 + rng.IntN(3))}
			}
			if got, want := k.cutOff(v, silent), k.cutOffIn(v, silent); !got.Equal(want) {
				t.Fatalf("cut off at %v, but found anew at %v", got, want)
			}
			if got, want := k.missed(v), k.missedBy(v.Observations); !slices.Equal(got, want) {
				t.Fatalf("missed are %v, but found anew %v", got, want)
			}
		}
	}
}

// drawView is a view that follows v: somebody changes, and others are missed.
func drawView(rng *rand.Rand, v *member.View) *member.View {
	next := *v
	next.Members = slices.Clone(v.Members)
	next.Members[1+rng.IntN(len(next.Members)-1)].Status = []member.Status{member.Up, member.Exiting, member.Down}[rng.IntN(3)]
	next.Observations = nil
	for i := range next.Members {
		if subject := rng.IntN(len(next.Members)); rng.IntN(3) == 0 && subject != i {
			next.Observations = append(next.Observations, member.Observation{Observer: node(i), Subject: node(subject)})
		}
	}
	return &next
}

func drawInput(rng *rand.Rand, members int) gossip.Input {
	peer := node(1 + rng.IntN(members))
	switch rng.IntN(4) {
	case 0:
		return gossip.LinkBroke{Peer: peer}
	case 1:
		return gossip.Dialed{Peer: peer, Result: []gossip.DialResult{gossip.Answered, gossip.Silent, gossip.Refused}[rng.IntN(3)]}
	case 2:
		return gossip.Received{From: peer, Msg: gossip.Heartbeat{Seq: 1}}
	default:
		return gossip.Tick{}
	}
}

func TestRankedAmongTwoLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	draw := func() []time.Time {
		times := make([]time.Time, rng.IntN(7))
		for i := range times {
			times[i] = time.Unix(rng.Int64N(9), 0)
		}
		sort.Slice(times, func(i, j int) bool { return times[i].Before(times[j]) })
		return times
	}
	for range 2000 {
		a, b := draw(), draw()
		all := slices.Concat(a, b)
		slices.SortFunc(all, time.Time.Compare)
		for rank, want := range all {
			if got := ranked(a, b, rank); !got.Equal(want) {
				t.Fatalf("rank %d of %v and %v is %v, want %v", rank, a, b, got, want)
			}
		}
	}
}

// What one refused attempt costs a node of the smaller side of 1,000, whose links to its 400
// fellows have broken, as their processes have ended. There are up to twenty such attempts
// in a second for each fellow.
func BenchmarkDialedByLosingSide(b *testing.B) {
	now := time.Unix(1000, 0)
	k := &crashes{self: node(0), isolation: isolation}
	v := viewOf(1000, 0)
	for i := range 400 {
		v.Members[i].Status = member.Down
		for _, j := range []int{400, 500, 600} {
			v.Observations = append(v.Observations, member.Observation{Observer: node(i), Subject: node(j + i)})
		}
	}
	slices.SortFunc(v.Members, func(a, b member.Member) int { return a.Compare(b.ID) })
	slices.SortFunc(v.Observations, func(a, b member.Observation) int {
		return cmp.Or(a.Observer.Compare(b.Observer), a.Subject.Compare(b.Subject))
	})
	for i := 1; i < 400; i++ {
		k.step(now, v, gossip.LinkBroke{Peer: node(i)}, false)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now = now.Add(time.Millisecond)
		k.step(now, v, gossip.Dialed{Peer: node(1 + i%399), Result: gossip.Refused}, false)
		k.cutOff(v, nil)
	}
}
