package phi

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

func settings() Settings {
	return Settings{
		Threshold: 8, MaxSamples: 1000, MinStdDeviation: 100 * time.Millisecond,
		AcceptablePause: 3 * time.Second, FirstEstimate: time.Second,
	}
}

func nth(i int) member.ID {
	return member.ID{Address: member.Address{Host: "n", Port: i}, UID: rand.New(rand.NewPCG(uint64(i), 1)).Int64()}
}

// Each node is watched by as many others as asked, whatever the size.
func TestRingSpreadsTheWatching(t *testing.T) {
	for _, size := range []int{1, 2, 5, 10, 11, 100} {
		var nodes []member.ID
		for i := range size {
			nodes = append(nodes, nth(i))
		}
		ring := NewRing(9, nodes, nil)
		watchers := map[member.ID]int{}
		for _, sender := range nodes {
			for _, to := range ring.Receivers(sender) {
				watchers[to]++
			}
		}
		for _, n := range nodes {
			if got, want := watchers[n], min(9, size-1); got != want {
				t.Errorf("%d nodes: %v is watched by %d, want %d", size, n, got, want)
			}
		}
	}
}

// With the default settings, silence is noticed between four and six seconds
// after the last of a regular series of heartbeats.
func TestSilenceIsNoticed(t *testing.T) {
	d := NewDetector(settings())
	for s := range int64(60) {
		d.Heartbeat(at(s * 1000))
	}
	last := int64(59_000)
	for _, tt := range []struct {
		silence int64
		want    bool
	}{{1000, true}, {4000, true}, {6000, false}, {3_600_000, false}} {
		if got := d.Available(at(last + tt.silence)); got != tt.want {
			t.Errorf("after %d ms of silence: available %v, want %v (phi %v)", tt.silence, got, tt.want, d.Phi(at(last+tt.silence)))
		}
	}
}

func TestHistoryBoundsSamples(t *testing.T) {
	h := NewHistory(0)
	for _, ms := range []int64{-5, 1 << 62} {
		h.Add(ms)
	}
	if h.Mean() != maxInterval || h.Variance() != 0 {
		t.Errorf("a window of one has mean %v, variance %v", h.Mean(), h.Variance())
	}
}

// A neighbour that never answers the first heartbeat is noticed too.
func TestWatchExpectsFirstAnswer(t *testing.T) {
	w := NewWatch(nth(0), 9, settings())
	w.Add(at(0), nth(1), nth(2))
	w.Expect(nth(1), at(1000))
	w.Expect(nth(9), at(1000)) // not a member: ignored
	if w.Available(nth(1), at(60_000)) || !w.Available(nth(2), at(60_000)) || w.Monitoring(nth(9)) {
		t.Error("only the neighbour that was expected comes under suspicion")
	}
}

func TestWatchNamesTheSilent(t *testing.T) {
	w := NewWatch(nth(0), 9, settings())
	w.Add(at(0), nth(1), nth(2), nth(3))
	w.Response(nth(1), at(0))
	w.Response(nth(2), at(1000))
	if got, want := w.Silent(at(2500), 2*time.Second), []member.ID{nth(1)}; !slices.Equal(got, want) {
		t.Errorf("silent are %v, want %v", got, want)
	}
}

func BenchmarkDetector(b *testing.B) {
	d := NewDetector(settings())
	b.ReportAllocs()
	ms := int64(0)
	for b.Loop() {
		ms += 1000
		d.Heartbeat(at(ms))
	}
}

func BenchmarkReceivers(b *testing.B) {
	var nodes []member.ID
	for i := range 1000 {
		nodes = append(nodes, nth(i))
	}
	ring := NewRing(9, nodes, nil)
	b.ReportAllocs()
	for b.Loop() {
		ring.Receivers(nodes[500])
	}
}
