package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/discover"
	"github.com/troupe-go/troupe/store"
)

// startWith starts a node with what differs from the usual.
func (w *world) startWith(name string, change func(*troupe.Config)) *troupe.Node {
	w.t.Helper()
	cfg := troupe.Config{
		Listen: name + ":2552", Transport: w.net, Insecure: true, Log: slog.New(slog.DiscardHandler),
	}
	change(&cfg)
	n, err := troupe.Start(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatalf("start %s: %v", name, err)
	}
	w.t.Cleanup(n.Kill)
	return n
}

var fiveContacts = discover.Static{"n1:2552", "n2:2552", "n3:2552", "n4:2552", "n5:2552"}

func withContacts(c discover.Seeds) func(*troupe.Config) {
	return func(cfg *troupe.Config) { cfg.Contacts = c }
}

func withStore(s store.Store) func(*troupe.Config) {
	return func(cfg *troupe.Config) { cfg.Store = s }
}

func TestContactsFoundOneCluster(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var nodes []*troupe.Node
		for _, name := range []string{"n4", "n2", "n5", "n3"} { // n1 is dead
			nodes = append(nodes, w.startWith(name, withContacts(fiveContacts)))
		}
		w.sees(20*time.Second, nodes, nodes)
		late := w.startWith("n1", withContacts(fiveContacts))
		nodes = append(nodes, late)
		w.sees(20*time.Second, nodes, nodes)
		if late.View().Cluster == 0 {
			t.Error("the cluster has no id")
		}
	})
}

// slowSeeds finds late, or nothing at first, and loses entries now and then.
type slowSeeds struct {
	mu     sync.Mutex
	rand   *rand.Rand
	misses int
}

func (s *slowSeeds) Find(ctx context.Context) ([]discover.Address, error) {
	s.mu.Lock()
	misses := s.misses
	s.misses--
	delay, drop := time.Duration(s.rand.Int64N(int64(2*time.Second))), s.rand.IntN(10)
	s.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	found, err := fiveContacts.Find(ctx)
	switch {
	case misses > 0 && misses%2 == 0:
		return nil, errors.New("no answer")
	case misses > 0:
		return nil, nil
	case drop < len(found):
		found = slices.Delete(found, drop, drop+1)
	}
	return found, err
}

// Whole nodes, started at once on real links in virtual time: one of them is dead or late, their
// look-ups are slow and differ, links are slow or cut for a while, and yet there is one cluster.
func TestFiveNodesStartedAtOnceAreOneCluster(t *testing.T) {
	for seed := range uint64(interleavings) {
		inWorld(t, func(t *testing.T, w *world) {
			r := rand.New(rand.NewPCG(seed, 5))
			late := r.IntN(7) // from 5 on: nobody
			begin := func(i int) *troupe.Node {
				return w.startWith(fmt.Sprintf("n%d", i+1), func(cfg *troupe.Config) {
					cfg.Contacts = &slowSeeds{rand: rand.New(rand.NewPCG(seed, uint64(i))), misses: r.IntN(5)}
					cfg.RequiredContacts = 3
				})
			}
			var nodes []*troupe.Node
			for i := range 5 {
				if i != late {
					nodes = append(nodes, begin(i))
				}
			}
			a, b := nodes[r.IntN(len(nodes))].ID().Address, nodes[r.IntN(len(nodes))].ID().Address
			w.net.Delay(a, b, time.Duration(r.Int64N(int64(time.Second))))
			w.net.Cut(b, a)
			time.Sleep(time.Duration(r.Int64N(int64(20 * time.Second))))
			w.net.Heal(b, a)
			w.net.Delay(a, b, 0)
			if late < 5 && r.IntN(2) == 0 {
				nodes = append(nodes, begin(late))
			}
			w.sees(2*time.Minute, nodes, nodes)
			for _, n := range nodes {
				if n.View().Cluster != nodes[0].View().Cluster {
					t.Errorf("seed %d: %v is in cluster %v, %v in %v", seed, n.ID(), n.View().Cluster, nodes[0].ID(), nodes[0].View().Cluster)
				}
			}
		})
	}
}

func TestStoreDecidesWhoFounds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := store.NewMemory()
		var nodes []*troupe.Node
		for _, name := range []string{"n1", "n2", "n3", "n4", "n5"} {
			nodes = append(nodes, w.startWith(name, withStore(db)))
		}
		w.sees(30*time.Second, nodes, nodes)
		time.Sleep(time.Minute)
		rows, err := db.Live(t.Context(), "troupe")
		if err != nil || len(rows) != 5 || rows[0].ClusterID != nodes[0].View().Cluster.String() {
			t.Errorf("the store has %+v, %v, want five rows of cluster %v", rows, err, nodes[0].View().Cluster)
		}
		if err := nodes[4].Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rows, _ := db.Live(t.Context(), "troupe"); len(rows) != 4 {
			t.Errorf("the store has %d rows after one of five has left", len(rows))
		}
	})
}

func TestMEM09ClusterStartsAfterATotalCrash(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := store.NewMemory()
		var nodes []*troupe.Node
		for _, name := range []string{"n1", "n2", "n3"} {
			nodes = append(nodes, w.startWith(name, withStore(db)))
		}
		w.sees(30*time.Second, nodes, nodes)
		old := nodes[0].View().Cluster
		for _, n := range nodes {
			n.Kill()
		}
		again := w.startWith("n2", withStore(db))
		w.sees(30*time.Second, []*troupe.Node{again}, []*troupe.Node{again})
		if id := again.View().Cluster; id == old {
			t.Errorf("the new cluster has the id of the old one, %v", id)
		}
		time.Sleep(time.Minute)
		rows, err := db.Live(t.Context(), "troupe")
		if err != nil || len(rows) != 1 || rows[0].Incarnation != again.ID().UID {
			t.Errorf("the store has %+v, %v, want the row of %v alone", rows, err, again.ID())
		}
	})
}

func TestMEM10NodeThatWasVotedOutStops(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := store.NewMemory()
		nodes := []*troupe.Node{w.startWith("n1", withStore(db)), w.startWith("n2", withStore(db))}
		w.sees(30*time.Second, nodes, nodes)
		time.Sleep(10 * time.Second)
		rows, err := db.Live(t.Context(), "troupe")
		if err != nil || len(rows) != 2 {
			t.Fatalf("the store has %+v, %v", rows, err)
		}
		if err := db.Remove(t.Context(), rows[1].Runner, rows[1].Generation); err != nil {
			t.Fatal(err)
		}
		select {
		case <-nodes[1].Done():
		case <-time.After(5 * time.Second):
			t.Fatal("the node goes on after its row was removed")
		}
		if err := nodes[1].Err(); !errors.Is(err, troupe.ErrDowned) || !strings.Contains(err.Error(), "runner") {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestWrongClusterNameEndsTheJoiner(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(2)
		lost := w.startWith("n3", func(cfg *troupe.Config) { cfg.Name, cfg.Seeds = "trouppe", w.seeds })
		select {
		case <-lost.Done():
		case <-time.After(20 * time.Second):
			t.Fatal("the joiner still tries")
		}
		err := lost.Err()
		if !errors.Is(err, troupe.ErrRefused) || !strings.Contains(err.Error(), "trouppe") || !strings.Contains(err.Error(), `"troupe"`) {
			t.Errorf("it ended with %v, want ErrRefused that names both clusters", err)
		}
		w.sees(time.Minute, nodes, nodes)
	})
}

func TestSettingsThatDifferAreRefusedOnBothSides(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var log safeBuffer
		logged := func(cfg *troupe.Config) {
			cfg.Seeds = []string{"n1:2552"}
			cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		}
		first := w.startWith("n1", logged)
		if err := first.WhenUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := w.startWith("n2", func(cfg *troupe.Config) {
			cfg.Seeds = []string{"n1:2552"}
			cfg.Times.AcceptablePause = 7 * time.Second
		})
		<-other.Done()
		synctest.Wait() // until the member has said so, too
		want := []string{"Times.AcceptablePause", `3s`, `7s`}
		for _, text := range want {
			if err := other.Err(); !errors.Is(err, troupe.ErrRefused) || !strings.Contains(err.Error(), text) {
				t.Errorf("the joiner ended with %v, want ErrRefused with %v", err, want)
			}
			if !strings.Contains(log.String(), text) {
				t.Errorf("the member's log does not say %s:\n%s", text, log.String())
			}
		}
		if got := strings.Count(log.String(), "Times.AcceptablePause"); got != 1 {
			t.Errorf("the member said so %d times:\n%s", got, log.String())
		}
		anyway := w.startWith("n3", func(cfg *troupe.Config) {
			cfg.Seeds, cfg.JoinAnyway = []string{"n1:2552"}, true
			cfg.Times.AcceptablePause = 7 * time.Second
		})
		if err := anyway.WhenUp(t.Context()); err != nil {
			t.Errorf("a node that joins anyway: %v", err)
		}
	})
}

func TestMinMembersOfRole(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		gate := func(cfg *troupe.Config) {
			cfg.Seeds, cfg.Roles, cfg.AppVersion = []string{"n1:2552"}, []string{"dad"}, "1.2.3"
			cfg.MinMembersOf = map[string]int{"dad": 2}
		}
		first := w.startWith("n1", gate)
		time.Sleep(time.Minute)
		if m, _ := first.View().SelfMember(); m.Status != troupe.Joining || m.AppVersion != "1.2.3" {
			t.Fatalf("alone it is %+v, want Joining, version 1.2.3", m)
		}
		both := []*troupe.Node{first, w.startWith("n2", gate)}
		w.sees(20*time.Second, both, both)
	})
}

func TestMEM06SameNameOtherClusterIsReported(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		x := w.startAll(3)
		x[0].Kill() // the first seed's address is free
		w.sees(time.Minute, x[1:], x[1:])
		y := w.startWith("n1", func(cfg *troupe.Config) { cfg.Seeds = []string{"n1:2552"} }) // founds at once
		if err := y.WhenUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		w.sees(time.Second, x[1:], x[1:])
		w.sees(time.Second, []*troupe.Node{y}, []*troupe.Node{y})
		for _, n := range []*troupe.Node{x[1], y} {
			others := n.OtherClusters()
			if len(others) != 1 || others[0].ID == n.View().Cluster || others[0].ID == 0 {
				t.Errorf("%v of cluster %v knows of the clusters %+v, want the other one", n.ID(), n.View().Cluster, others)
			}
		}
	})
}

func TestContactsAreCheckedAtStart(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  troupe.Config
		want string
	}{
		{"both", troupe.Config{Seeds: []string{"a:1"}, Contacts: fiveContacts}, "Seeds and Contacts"},
		{"no number", troupe.Config{Contacts: discover.DNS{Name: "a", Port: 1}}, "RequiredContacts must say"},
		{"negative", troupe.Config{Contacts: fiveContacts, RequiredContacts: -1}, "RequiredContacts is -1"},
		{"nothing to count", troupe.Config{RequiredContacts: 2}, "no Contacts to count"},
		{"the store decides", troupe.Config{Contacts: fiveContacts, RequiredContacts: 2, Store: store.NewMemory()}, "the Store decides"},
		{"an empty list", troupe.Config{Contacts: discover.Static{}}, "empty list"},
		{"no address", troupe.Config{Contacts: discover.Static{"a"}}, "has no port"},
		{"no name", troupe.Config{Contacts: discover.DNS{Port: 1}, RequiredContacts: 2}, "is no name"},
		{"no role", troupe.Config{MinMembersOf: map[string]int{"": 2}}, "MinMembersOf"},
		{"less than nobody", troupe.Config{MinMembersOf: map[string]int{"dad": -2}}, "MinMembersOf"},
	} {
		n, err := troupe.Start(t.Context(), tt.cfg)
		if err == nil {
			n.Kill()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

// An outage is a store that does not answer for a while.
type outage struct {
	store.Store
	down atomic.Bool
}

func (o *outage) Live(ctx context.Context, cluster string) ([]store.LiveRunner, error) {
	if o.down.Load() {
		return nil, store.ErrUnknown
	}
	return o.Store.Live(ctx, cluster)
}

func (o *outage) Refresh(ctx context.Context, r store.Runner, g store.Generation, ttl time.Duration) error {
	if o.down.Load() {
		return store.ErrUnknown
	}
	return o.Store.Refresh(ctx, r, g, ttl)
}

// After a long outage all rows have run out, and some were tidied up. The members
// have their places again before a newcomer, who waits, founds a second cluster.
func TestOutageOfTheStoreIsNoReasonToFound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := store.NewMemory()
		flaky := &outage{Store: db}
		nodes := []*troupe.Node{w.startWith("n1", withStore(flaky)), w.startWith("n2", withStore(flaky))}
		w.sees(30*time.Second, nodes, nodes)
		time.Sleep(10 * time.Second)
		rows, err := db.Live(t.Context(), "troupe")
		if err != nil || len(rows) != 2 {
			t.Fatalf("the store has %+v, %v", rows, err)
		}
		flaky.down.Store(true)
		time.Sleep(time.Minute)
		if err := db.Remove(t.Context(), rows[1].Runner, rows[1].Generation); err != nil {
			t.Fatal(err)
		}
		flaky.down.Store(false)
		nodes = append(nodes, w.startWith("n3", withStore(flaky)))
		w.sees(30*time.Second, nodes, nodes)
		time.Sleep(10 * time.Second)
		if rows, err := db.Live(t.Context(), "troupe"); err != nil || len(rows) != 3 {
			t.Errorf("the store has %+v, %v, want three rows", rows, err)
		}
	})
}

// A slow is a store that takes long over the first row that is entered, and loses it.
type slow struct {
	store.Store
	once sync.Once
}

func (s *slow) Register(ctx context.Context, r store.Runner, ttl time.Duration) (store.Generation, error) {
	g, err := s.Store.Register(ctx, r, ttl)
	s.once.Do(func() {
		time.Sleep(10 * time.Second)
		err = errors.Join(err, s.Remove(ctx, r, g)) // as others do who found in its place
	})
	return g, err
}

// A node that was about to found the cluster when others did, and ended, may found it
// when it is free again.
func TestFounderIsNotHeldToARowThatIsGone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		n := w.startWith("n1", withStore(&slow{Store: store.NewMemory()}))
		time.Sleep(time.Minute)
		if got := len(n.View().Members); got != 1 {
			t.Errorf("after a minute the node is in a cluster of %d, want 1; it waits for %v", got, n.Why())
		}
	})
}

// A store that answers nothing, or takes nothing, is what members and joiners wait for.
func TestWhyTheStoreIsWaitedFor(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		mute, readonly := &outage{Store: store.NewMemory()}, &full{Store: store.NewMemory()}
		waits := func(n *troupe.Node) (on []troupe.Wait) {
			for _, x := range n.Why().Waits {
				if x.What == "store" {
					on = append(on, x)
				}
			}
			return on
		}
		first := w.startWith("n1", withStore(mute))
		if err := first.WhenUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := waits(first); len(got) > 0 {
			t.Errorf("with a store that answers: %+v, want nothing", got)
		}
		mute.down.Store(true)
		readonly.down.Store(true)
		began := time.Now()
		for who, n := range map[string]*troupe.Node{
			"a member": first, "a joiner": w.startWith("n2", withStore(mute)), "a founder": w.startWith("n3", withStore(readonly)),
		} {
			time.Sleep(5 * time.Second)
			got := waits(n)
			if len(got) != 1 || !strings.Contains(got[0].Why, store.ErrUnknown.Error()) || got[0].Act == "" || got[0].Since.Before(began) || time.Since(got[0].Since) < time.Second {
				t.Errorf("%s says of a broken store %+v, want the error, since when, and what to do", who, got)
			}
		}
		mute.down.Store(false)
		time.Sleep(5 * time.Second)
		if got := waits(first); len(got) > 0 {
			t.Errorf("when the store answers again: %+v, want nothing", got)
		}
	})
}

// A full is a store that answers and takes nothing for a while, like one whose disk is full.
type full struct {
	store.Store
	down atomic.Bool
}

func (f *full) Refresh(ctx context.Context, r store.Runner, g store.Generation, ttl time.Duration) error {
	if f.down.Load() {
		return store.ErrUnknown
	}
	return f.Store.Refresh(ctx, r, g, ttl)
}

func (f *full) Found(ctx context.Context, cluster, proposal string, ttl time.Duration) (string, error) {
	if f.down.Load() {
		return "", store.ErrUnknown
	}
	return f.Store.Found(ctx, cluster, proposal, ttl)
}

func (f *full) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (store.Holding, error) {
	if f.down.Load() {
		return store.Holding{}, store.ErrUnknown
	}
	return f.Store.Acquire(ctx, name, owner, ttl)
}

// Whoever starts meanwhile sees all rows run out, and must not be the first to
// write when there is room again: the members would be refused for ever.
func TestFullStoreIsNoReasonToFound(t *testing.T) {
	for late := time.Duration(0); late < time.Second; late += 125 * time.Millisecond {
		inWorld(t, func(t *testing.T, w *world) {
			db := &full{Store: store.NewMemory()}
			nodes := []*troupe.Node{w.startWith("n1", withStore(db)), w.startWith("n2", withStore(db))}
			w.sees(30*time.Second, nodes, nodes)
			db.down.Store(true)
			time.Sleep(20*time.Second + late)
			nodes = append(nodes, w.startWith("n3", withStore(db)))
			time.Sleep(20 * time.Second)
			db.down.Store(false)
			time.Sleep(20 * time.Second)
			for _, n := range nodes {
				if got, want := n.View().Cluster, nodes[0].View().Cluster; len(n.View().Members) != 3 || got != want || n.Err() != nil {
					t.Errorf("%v after the full second: %v has %d members of cluster %v, and ended with %v; want 3 of %v",
						late, n.ID(), len(n.View().Members), got, n.Err(), want)
				}
			}
		})
	}
}

// A cluster that was founded without a store keeps its id when it gets one.
func TestStoreLearnsOfAClusterThatExists(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(2)
		db := store.NewMemory()
		both := func(cfg *troupe.Config) {
			cfg.Store, cfg.Seeds, cfg.JoinAnyway = db, w.seeds, true // the default strategy differs
		}
		nodes = append(nodes, w.startWith("n3", both), w.startWith("n4", both))
		w.sees(30*time.Second, nodes, nodes)
		time.Sleep(10 * time.Second)
		rows, err := db.Live(t.Context(), "troupe")
		if err != nil || len(rows) != 2 || rows[0].ClusterID != nodes[0].View().Cluster.String() {
			t.Errorf("the store has %+v, %v, want two rows of cluster %v", rows, err, nodes[0].View().Cluster)
		}
	})
}

// Over real sockets: one contact runs, one refuses, and one, about to stop, takes
// connections and drops them.
func TestMEM12NotReadyOrTerminatingPeers(t *testing.T) {
	refusing, stopping := listener(t), listener(t)
	refusing.Close()
	go func() {
		for {
			conn, err := stopping.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	start := func(contacts ...string) *troupe.Node {
		t.Helper()
		n, err := troupe.Start(t.Context(), troupe.Config{
			Contacts: discover.Static(contacts), RequiredContacts: 1, Log: slog.New(slog.DiscardHandler),
			Times: troupe.Times{JoinRetry: 20 * time.Millisecond, SeedTimeout: 100 * time.Millisecond, GiveUp: time.Second, InitialDelay: 10 * time.Millisecond, Gossip: 50 * time.Millisecond, LeaderActions: 50 * time.Millisecond},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Kill)
		return n
	}
	bad := []string{refusing.Addr().String(), stopping.Addr().String()}
	lost := start(bad...)
	<-lost.Done()
	if err := lost.Err(); !errors.Is(err, troupe.ErrRefused) || !strings.Contains(err.Error(), bad[0]) {
		t.Errorf("without a live contact it ended with %v, want ErrRefused that names the contacts", err)
	}
	if l, err := net.Listen("tcp", lost.ID().Address.String()); err != nil {
		t.Errorf("it left its port behind: %v", err)
	} else {
		l.Close()
	}

	alone, err := troupe.Start(t.Context(), troupe.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(alone.Kill)
	joiner := start(append(bad, alone.ID().Address.String())...)
	if err := joiner.WhenUp(t.Context()); err != nil {
		t.Error(err)
	}
	if got, want := joiner.View().Cluster, alone.View().Cluster; got != want {
		t.Errorf("the joiner is in cluster %v, want %v", got, want)
	}
}

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
