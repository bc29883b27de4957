package gossip

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// incomplete makes a node on host i the founder of a cluster that needs three.
func (w *world) incomplete(i int, id member.ClusterID, contacts ...int) *node {
	n := w.boot(i, w.cfg)
	n.now = w.now
	n.join = joining{way: byContacts, required: 3}
	n.listSeeds(addrs(contacts...))
	n.found(id, 3)
	w.do(n, Found{1}) // too late, but it makes the node run
	return n
}

// A cluster that has not begun gives way to one that has come further, or has the
// lower id, and only then.
func TestIncompleteClusterGivesWay(t *testing.T) {
	for _, tt := range []struct {
		name   string
		others int // that are in the second cluster beside its founder
		first  member.ClusterID
		gives  string
	}{
		{"two incomplete ones", 0, 9, "first"},
		{"two incomplete ones, the other way round", 0, 5, "second"},
		{"one has begun", 2, 5, "first"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1)
			second := w.incomplete(1, 7, 0, 1, 2, 3)
			for i := range tt.others {
				w.start(2+i, 1, 2+i)
			}
			w.within(time.Minute, "the second cluster is what it is to be", func() bool {
				return len(second.View().Members) == 1+tt.others && (tt.others < 2 || w.up())
			})
			first := w.incomplete(0, tt.first, 0, 1, 2, 3)
			w.run(20 * time.Second)
			gives, stays := first, second
			if tt.gives == "second" {
				gives, stays = second, first
			}
			if gives.stop == nil || gives.stop.Reason != Superseded || stays.stop != nil {
				t.Fatalf("first: %+v, second: %+v; the %s one was to give way", first.stop, second.stop, tt.gives)
			}
			if got := stays.Aliens(w.now); len(got) > 1 {
				t.Errorf("the one that stays knows of %+v", got)
			}
		})
	}
}

// A node was let in, but the welcome was lost and it has joined another cluster of
// the name. Once the two hear from each other it is gone for good where it never was.
func TestMemberThatJoinedElsewhereIsGone(t *testing.T) {
	for _, tt := range []struct {
		name string
		lost time.Duration // for how long nothing comes through
	}{{"it gets the welcome late", 0}, {"it gets the gossip", time.Second}} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 2)
			x, y := w.start(0, 0), w.start(1, 1)
			stray := w.start(2, 1, 2)
			w.within(time.Minute, "y and the stray are up", func() bool { return y.status(stray.id) == member.Up })
			if tt.lost > 0 {
				w.cut = func(from, _ member.ID) bool { return from == x.id }
			}
			w.do(x, Received{From: stray.id, Msg: Join{Cluster: "test", Node: stray.id, DataCenter: "default"}})
			w.run(tt.lost + 10*time.Millisecond)
			if tt.lost > 0 && x.status(stray.id) == 0 {
				t.Fatalf("x has not let the stray in:\n%s", x.Describe())
			}
			w.heal()
			w.within(30*time.Second, "x is alone again", func() bool { return len(x.View().Members) == 1 && x.View().Converged })
			if x.stop != nil || y.stop != nil || stray.stop != nil || len(y.View().Members) != 2 {
				t.Errorf("x: %+v, y: %+v, the stray: %+v; y has\n%s", x.stop, y.stop, stray.stop, y.Describe())
			}
			if got := x.Aliens(w.now); len(got) != 1 || got[0].ID != y.View().Cluster || got[0].From != stray.id {
				t.Errorf("x knows of %+v, want cluster %v", got, y.View().Cluster)
			}
			w.run(2 * time.Minute)
			if got := x.Aliens(w.now); len(got) != 0 {
				t.Errorf("two minutes later x still knows of %+v", got)
			}
		})
	}
}

func TestSeedsThatRefuseForGood(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refuse  []int
		founder int // host of the node; 0 is the first seed
		stops   bool
	}{
		{"all", []int{1, 2}, 3, true},
		{"all others of the first seed", []int{1, 2}, 0, true},
		{"one is only silent", []int{1}, 3, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 3)
			seeds := []int{1, 2}
			if tt.founder == 0 {
				seeds = []int{0, 1, 2}
			}
			n := w.start(tt.founder, seeds...)
			w.run(time.Second)
			for _, i := range tt.refuse {
				w.do(n, SeedRefused{Address: addr(i), Text: "of another cluster"})
			}
			w.run(10 * time.Second)
			if stopped := n.stop != nil; stopped != tt.stops || stopped && n.stop.Reason != JoinRefused {
				t.Errorf("stopped as %+v, want that: %v", n.stop, tt.stops)
			}
		})
	}
}
