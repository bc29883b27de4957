package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/troupe-go/troupe/store"
)

// found expects the cluster to have this id.
func found(t testing.TB, s store.Store, cluster, proposal, want string) {
	t.Helper()
	if id, err := s.Found(wait(t), cluster, proposal, ttl); err != nil || id != want {
		t.Fatalf("Found %q with proposal %q = %q, %v; want %q", cluster, proposal, id, err, want)
	}
}

// register expects the runner to be entered.
func register(t testing.TB, s store.Store, r store.Runner) store.Generation {
	t.Helper()
	g, err := s.Register(wait(t), r, ttl)
	if err != nil || g == 0 {
		t.Fatalf("Register %+v = %d, %v", r, g, err)
	}
	return g
}

// live expects these runners, in this order.
func live(t testing.TB, s store.Store, cluster string, want ...store.Runner) []store.LiveRunner {
	t.Helper()
	rows, err := s.Live(wait(t), cluster)
	var got []store.Runner
	for _, r := range rows {
		got = append(got, r.Runner)
		if r.Left <= 0 || r.Left > ttl || r.Generation == 0 {
			t.Errorf("Live %q has %+v; want a generation and at most %v left", cluster, r, ttl)
		}
	}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("Live %q = %+v, %v; want %+v", cluster, got, err, want)
	}
	return rows
}

func testFounding(t *testing.T, w *world) {
	a, b := w.open(), w.open()
	live(t, a, "founding")
	_, err := a.Register(wait(t), store.Runner{Cluster: "founding", ClusterID: "first", Address: "a:1"}, ttl)
	refused(t, "Register before the founding", err, store.ErrOtherCluster)
	found(t, a, "founding", "first", "first")
	found(t, b, "founding", "second", "first")
	found(t, a, "founding", "first", "first") // repeated after a lost answer
	found(t, b, "founding elsewhere", "second", "second")
	_, err = b.Register(wait(t), store.Runner{Cluster: "founding", ClusterID: "second", Address: "b:1"}, ttl)
	refused(t, "Register with another id", err, store.ErrOtherCluster)
}

// testFoundingLapses: a founding lasts for its ttl, then as long as a runner is
// live; what follows has nothing in common with it.
func testFoundingLapses(t *testing.T, w *world) {
	a, b := w.open(), w.open()
	found(t, a, "lapse", "first", "first") // by one that never registers
	w.pass(ttl / 2)
	found(t, b, "lapse", "second", "first")
	w.pass(ttl)
	found(t, b, "lapse", "second", "second")
	_, err := a.Register(wait(t), store.Runner{Cluster: "lapse", ClusterID: "first", Address: "a:1"}, ttl)
	refused(t, "Register with an id that lapsed", err, store.ErrOtherCluster)

	r := store.Runner{Cluster: "lapse", ClusterID: "second", Address: "b:1", Incarnation: 7}
	g := register(t, b, r)
	for range 3 {
		w.pass(ttl * 3 / 4)
		if err := b.Refresh(wait(t), r, g, ttl); err != nil {
			t.Fatalf("Refresh = %v", err)
		}
		found(t, a, "lapse", "third", "second")
	}
	w.pass(2 * ttl)
	found(t, a, "lapse", "third", "third")
	refused(t, "Refresh when the cluster was founded anew", b.Refresh(wait(t), r, g, ttl), store.ErrOtherCluster)
	live(t, b, "lapse")
	r.ClusterID = "third"
	if later := register(t, b, r); later <= g {
		t.Errorf("generation %d in the new cluster, after %d in the old one; want a higher one", later, g)
	}
}

func testFoundingOfManyAtOnce(t *testing.T, w *world) {
	stores := []store.Store{w.open(), w.open()}
	const nodes = 8
	var wg sync.WaitGroup
	ids := make([]string, nodes)
	for i := range nodes {
		wg.Go(func() {
			var err error
			if ids[i], err = stores[i%len(stores)].Found(wait(t), "many", fmt.Sprint("proposal ", i), ttl); err != nil {
				t.Errorf("Found = %v", err)
			}
		})
	}
	wg.Wait()
	if one := slices.Compact(ids); len(one) != 1 {
		t.Errorf("%d nodes that founded at once got the ids %q; want one", nodes, one)
	}
}

func testRunners(t *testing.T, w *world) {
	a, b := w.open(), w.open()
	found(t, a, "runners", "id", "id")
	first := store.Runner{Cluster: "runners", ClusterID: "id", Address: "a:1", Incarnation: 1}
	other := store.Runner{Cluster: "runners", ClusterID: "id", Address: "b:1", Incarnation: -5}
	ob := register(t, b, other)
	of := register(t, a, first)
	if of <= ob {
		t.Errorf("generations %d and then %d; want growing ones", ob, of)
	}
	if again := register(t, a, first); again != of {
		t.Errorf("the same incarnation again has generation %d; want %d as before", again, of)
	}
	live(t, b, "runners", first, other)

	next := first
	next.Incarnation = 2
	on := register(t, a, next)
	if on <= of {
		t.Errorf("the next incarnation has generation %d after %d; want a higher one", on, of)
	}
	refused(t, "Refresh by a replaced incarnation", a.Refresh(wait(t), first, of, ttl), store.ErrRunnerGone)
	if err := a.Remove(wait(t), first, of); err != nil {
		t.Errorf("Remove by a replaced incarnation = %v; want nothing to be done", err)
	}
	live(t, b, "runners", next, other)
	for range 2 {
		if err := a.Remove(wait(t), next, on); err != nil {
			t.Errorf("Remove = %v", err)
		}
	}
	live(t, b, "runners", other)
}

// testDeadRows: after a crash of all, a single node serves as soon as the rows
// have run out, and the rows of the dead harm nobody.
func testDeadRows(t *testing.T, w *world) {
	a, b := w.open(), w.open()
	found(t, a, "dead", "old", "old")
	dead := store.Runner{Cluster: "dead", ClusterID: "old", Address: "a:1", Incarnation: 1}
	also := store.Runner{Cluster: "dead", ClusterID: "old", Address: "b:1", Incarnation: 1}
	gd, ga := register(t, a, dead), register(t, b, also)

	w.pass(ttl * 5 / 4) // both rows have run out; the store alone was away
	live(t, b, "dead")
	if err := b.Refresh(wait(t), also, ga, ttl); err != nil {
		t.Fatalf("Refresh of a row that ran out = %v; want it to live again", err)
	}
	live(t, a, "dead", also)
	found(t, a, "dead", "new", "old")

	w.pass(ttl)
	if err := b.Refresh(wait(t), also, ga, ttl); err != nil {
		t.Fatalf("Refresh = %v", err)
	}
	late := store.Runner{Cluster: "dead", ClusterID: "old", Address: "c:1", Incarnation: 1}
	register(t, b, late) // deletes the row that ran out more than a ttl ago
	refused(t, "Refresh of a row that was cleaned", a.Refresh(wait(t), dead, gd, ttl), store.ErrRunnerGone)

	w.pass(2 * ttl)
	found(t, a, "dead", "new", "new")
	alone := store.Runner{Cluster: "dead", ClusterID: "new", Address: "a:1", Incarnation: 2}
	register(t, a, alone)
	live(t, a, "dead", alone)
}

// testRemovedBehindItsBack: who was voted out hears so at its next refresh.
func testRemovedBehindItsBack(t *testing.T, w *world) {
	a, b := w.open(), w.open()
	found(t, a, "voted", "id", "id")
	out := store.Runner{Cluster: "voted", ClusterID: "id", Address: "a:1", Incarnation: 1}
	register(t, a, out)
	rows := live(t, b, "voted", out)
	if err := b.Remove(wait(t), rows[0].Runner, rows[0].Generation); err != nil {
		t.Fatalf("Remove = %v", err)
	}
	err := a.Refresh(wait(t), out, rows[0].Generation, ttl)
	refused(t, "Refresh of a row that was removed", err, store.ErrRunnerGone)
	if errors.Is(err, store.ErrOtherCluster) {
		t.Errorf("Refresh of a row that was removed = %v; want the cluster to be the same", err)
	}
	live(t, b, "voted")
}
