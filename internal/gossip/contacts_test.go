package gossip

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// find starts a node on host i that looks for a cluster together with contacts.
func (w *world) find(i, required int, contacts ...int) *node {
	n := w.boot(i, w.cfg)
	w.do(n, JoinContacts{Contacts: addrs(contacts...), Required: required})
	return n
}

func addrs(hosts ...int) []member.Address {
	var all []member.Address
	for _, i := range hosts {
		all = append(all, addr(i))
	}
	return all
}

// begun are the clusters in which somebody has come up, as the living nodes see it.
func (w *world) begun() []member.ClusterID {
	var all []member.ClusterID
	for _, n := range w.living() {
		v := n.View()
		up := slices.ContainsFunc(v.Members, func(m member.Member) bool { return m.Status == member.WeaklyUp || m.UpNumber != member.NeverUp })
		if up && !slices.Contains(all, v.Cluster) {
			all = append(all, v.Cluster)
		}
	}
	return all
}

func TestContactsFoundTogether(t *testing.T) {
	w := newWorld(t, 1)
	for _, i := range []int{3, 0, 2, 1} {
		w.find(i, 3, 0, 1, 2, 3, 4) // 4 never comes
	}
	took := w.within(15*time.Second, "four are up", func() bool { return len(w.living()) == 4 && w.up() })
	if oldest, _ := w.nodes[0].View().Oldest("", member.Up); oldest.Address != addr(0) || took < w.cfg.Times.WithDefaults().SeedTimeout {
		t.Errorf("%v founded after %v, want %v, and not before all had the time to be heard", oldest.Address, took, addr(0))
	}
	late := w.find(4, 3, 0, 1, 2, 3, 4)
	w.within(15*time.Second, "the late one is in", w.up)
	if got, want := late.View().Cluster, w.nodes[0].View().Cluster; got != want || got == 0 {
		t.Errorf("the late one is in cluster %v, want %v", got, want)
	}
}

func TestContactsWaitForTheRequiredOnes(t *testing.T) {
	for _, tt := range []struct {
		name               string
		required, starters int
		listed             []int
		founds             bool
	}{
		{"two of five", 3, 2, []int{0, 1, 2, 3, 4}, false},
		{"three of five", 3, 3, []int{0, 1, 2, 3, 4}, true},
		{"a majority of the listed, whatever is required", 1, 2, []int{0, 1, 2, 3, 4}, false},
		{"all, if so required", 3, 2, []int{0, 1, 2}, false},
		{"itself alone", 1, 1, []int{0}, true},
		{"nobody found yet", 2, 1, nil, false},
		{"nobody found but each other", 1, 1, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 2)
			for i := range tt.starters {
				w.find(i, tt.required, tt.listed...)
			}
			w.run(time.Minute)
			if got := len(w.begun()) == 1; got != tt.founds {
				t.Errorf("a cluster has begun: %v, want %v\n%s", got, tt.founds, w.nodes[0].Describe())
			}
		})
	}
}

// Nodes whose look-ups found different ones get to know each other by their questions.
func TestContactsWithDifferentLists(t *testing.T) {
	w := newWorld(t, 3)
	w.find(0, 3, 1)
	w.find(1, 3, 2)
	w.find(2, 3, 3)
	w.find(3, 3, 0)
	w.within(time.Minute, "four are up", func() bool { return len(w.living()) == 4 && w.up() })
}

// While nobody may found, as with a store that decides, the decision comes from
// outside, and the id is kept.
func TestFoundedByDecision(t *testing.T) {
	w := newWorld(t, 4)
	a, b, c := w.boot(0, w.cfg), w.boot(1, w.cfg), w.boot(2, w.cfg)
	for _, n := range []*node{a, b, c} {
		w.do(n, JoinContacts{Contacts: addrs(0, 1, 2)})
	}
	w.run(time.Minute)
	if got := w.begun(); len(got) > 0 {
		t.Fatalf("%v was founded before the decision", got)
	}
	w.do(b, Found{7})
	w.within(20*time.Second, "three are up", w.up)
	if got := a.View().Cluster; got != 7 {
		t.Errorf("a is in cluster %v, want %v", got, member.ClusterID(7))
	}
	w.do(a, Found{8}) // too late
	stray := w.boot(3, w.cfg)
	w.do(stray, JoinContacts{Contacts: addrs(0), ID: 9})
	w.run(20 * time.Second)
	if a.View().Cluster != 7 || a.status(stray.id) != 0 {
		t.Errorf("a is in cluster %v; a node that looks for another cluster is %v", a.View().Cluster, a.status(stray.id))
	}
	if got := stray.Aliens(w.now); len(got) != 1 || got[0].ID != 7 {
		t.Errorf("the stray has met %v, want cluster %v", got, member.ClusterID(7))
	}
}

// Five nodes start about the same time, among pauses, cuts, slow links, contacts that are
// dead or late, and restarts of those that end: never do two clusters
// begin, and when the trouble is over all are in one.
func TestNeverTwoClusters(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { neverTwoClusters(t, seed) })
	}
}

func neverTwoClusters(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 99))
	w := newWorld(t, seed)
	var trouble trouble
	w.cut, w.delay = trouble.cuts, trouble.delays
	late := r.IntN(6) // 5: nobody
	dead := r.IntN(6)
	begin := func(i int) { w.find(i, 3, 0, 1, 2, 3, 4) }
	starts := make([]time.Time, 5)
	for i := range starts {
		starts[i] = w.now.Add(time.Duration(r.Int64N(int64(8 * time.Second))))
		if i == late && i != dead {
			starts[i] = w.now.Add(30 * time.Second)
		}
	}
	var id member.ClusterID
	end := w.now.Add(45 * time.Second)
	for w.now.Before(end) {
		w.run(100 * time.Millisecond)
		for i, at := range starts {
			if i != dead && !at.IsZero() && !w.now.Before(at) {
				begin(i)
				starts[i] = time.Time{}
			}
		}
		trouble.next(w, r)
		w.restartEnded(begin)
		id = w.oneCluster(t, id)
	}
	trouble = troubleOver
	w.within(2*time.Minute, "all are one cluster", func() bool {
		w.restartEnded(begin)
		id = w.oneCluster(t, id)
		return w.up()
	})
}

// restartEnded does what a supervisor does.
func (w *world) restartEnded(begin func(int)) {
	for _, n := range w.nodes {
		if n.stop != nil {
			n.stop = nil
			begin(slices.IndexFunc([]int{0, 1, 2, 3, 4}, func(i int) bool { return addr(i) == n.id.Address }))
		}
	}
}

// oneCluster fails when a cluster has begun beside the one that was first.
func (w *world) oneCluster(t *testing.T, first member.ClusterID) member.ClusterID {
	begun := w.begun()
	if first != 0 && !slices.Contains(begun, first) {
		begun = append(begun, first)
	}
	if len(begun) > 1 {
		for _, n := range w.living() {
			t.Log(n.Describe())
		}
		t.Fatalf("clusters %v have begun", begun)
	}
	if len(begun) == 0 {
		return first
	}
	return begun[0]
}

// trouble is what is wrong with the network at a time.
type trouble struct {
	cut  map[way2]bool
	slow map[way2]time.Duration
}

type way2 struct{ from, to member.Address }

var troubleOver = trouble{}

func (x *trouble) cuts(from, to member.ID) bool { return x.cut[way2{from.Address, to.Address}] }
func (x *trouble) delays(from, to member.ID) time.Duration {
	return x.slow[way2{from.Address, to.Address}]
}

// next changes something now and then.
func (x *trouble) next(w *world, r *rand.Rand) {
	if r.IntN(8) > 0 {
		return
	}
	a, b := addr(r.IntN(5)), addr(r.IntN(5))
	switch r.IntN(6) {
	case 0:
		if living := w.living(); len(living) > 0 {
			living[r.IntN(len(living))].paused = w.now.Add(time.Duration(r.Int64N(int64(12 * time.Second))))
		}
	case 1: // a partition, both ways
		x.cut = map[way2]bool{}
		for i := range 5 {
			for j := range 5 {
				if (i < 2) != (j < 2) {
					x.cut[way2{addr(i), addr(j)}] = true
				}
			}
		}
	case 2:
		if x.cut == nil {
			x.cut = map[way2]bool{}
		}
		x.cut[way2{a, b}] = true
	case 3:
		x.slow = map[way2]time.Duration{{a, b}: time.Duration(r.Int64N(int64(3 * time.Second)))}
	default:
		*x = troubleOver
	}
}
