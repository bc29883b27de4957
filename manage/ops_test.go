package manage_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/manage"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/wire"
)

type ping struct{ Reply actor.Reply[int] }

func (m ping) WithReply(r actor.Reply[int]) ping { m.Reply = r; return m }

var pings = wire.MustProtocol[ping](wire.Request("test.ping", ping{}))

// farApart is the delay of each link, one way.
const farApart = 20 * time.Millisecond

// A fleet is a cluster of real nodes over slow links, each with an entity type
// and its management API.
type fleet struct {
	t     *testing.T
	net   *transport.Memory
	names []string
}

type ship struct {
	*troupe.Node
	http.Handler
	pongs *shard.Entities[ping]
}

func (f *fleet) start(name string) *ship {
	f.t.Helper()
	far := func(n string) troupe.Address { return troupe.Address{Host: n, Port: 2552} }
	for _, other := range f.names {
		f.net.Delay(far(name), far(other), farApart)
		f.net.Delay(far(other), far(name), farApart)
	}
	f.names = append(f.names, name)
	n, err := troupe.Start(f.t.Context(), troupe.Config{
		Listen: name + ":2552", Seeds: []string{"n1:2552"}, Transport: f.net, Insecure: true, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(n.Kill)
	pongs, err := shard.Join(n, shard.Type[ping]{
		Name: "pong", Shards: 100, Protocol: pings,
		Start: func(*actor.Ctx[ping]) (actor.Behavior[ping], error) {
			return func(c *actor.Ctx[ping], m ping) error { return m.Reply.Send(c, 1) }, nil
		},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	h, err := manage.Handler(n, manage.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	return &ship{Node: n, Handler: h, pongs: pongs}
}

func (s *ship) ready() bool {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/ready", nil))
	return w.Code == http.StatusOK
}

func (s *ship) awaitReady(t *testing.T) {
	t.Helper()
	for began := time.Now(); !s.ready(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("%v is not ready after a minute: %v", s.ID(), s.Why())
		}
	}
}

// load asks all entities through s for a while, and gives how long the 99th of a
// hundred answers takes.
func (s *ship) load(t *testing.T, d time.Duration) (p99 time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			for began := time.Now(); time.Since(began) < d; time.Sleep(100 * time.Millisecond) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				asked := time.Now()
				_, err := actor.Ask(ctx, s.pongs.Ref(fmt.Sprint("#", i)), ping{})
				cancel()
				mu.Lock()
				took = append(took, time.Since(asked))
				mu.Unlock()
				if err != nil {
					t.Errorf("ask #%d through %v: %v", i, s.ID(), err)
				}
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	return took[len(took)*99/100]
}

// A node that has just become ready serves as quickly as one that has run for
// long: it knows where everything lives.
func TestOPS01TrafficBeforeTheNodeCanRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{t: t, net: transport.NewMemory()}
		var old []*ship
		for i := range 3 {
			old = append(old, f.start(fmt.Sprint("n", i+1)))
			old[i].awaitReady(t)
		}
		old[0].load(t, 30*time.Second) // until nothing moves any more

		fresh := f.start("n4")
		if fresh.ready() {
			t.Error("a node that has not joined is ready")
		}
		fresh.awaitReady(t)
		asked := time.Now()
		if _, err := actor.Ask(t.Context(), fresh.pongs.Ref("#1"), ping{}); err != nil {
			t.Fatal(err)
		}
		// A link is dialed and shakes hands, and the answer comes; nobody is asked for
		// the home.
		if took, trip := time.Since(asked), 2*farApart; took > 3*trip {
			t.Errorf("the first ask through the new node took %v, want three round trips of %v", took, trip)
		}
		first := fresh.load(t, 10*time.Second)
		fresh.load(t, 30*time.Second)
		steady := fresh.load(t, 10*time.Second)
		t.Logf("99 of 100 answers within %v in the first 10 s, %v later", first, steady)
		if first > 3*steady {
			t.Errorf("in its first 10 s the node answers within %v, later within %v: want less than three times", first, steady)
		}
		if !fresh.ready() {
			t.Error("not ready any more")
		}
	})
}
