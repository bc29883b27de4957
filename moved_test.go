package troupe_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
)

// serveEcho serves a greeter that counts what it hears.
func serveEcho(t *testing.T, n *troupe.Node) *atomic.Int64 {
	t.Helper()
	heard := new(atomic.Int64)
	ref, err := actor.Spawn(n, "greeter", func(*actor.Ctx[greeting]) (actor.Behavior[greeting], error) {
		return func(c *actor.Ctx[greeting], m greeting) error {
			heard.Add(1)
			if m, ok := m.(greet); ok {
				return m.Reply.Send(c, "hello "+m.Name)
			}
			return nil
		}, nil
	})
	if err == nil {
		err = troupe.Serve(n, "greeter", ref, greetings)
	}
	if err != nil {
		t.Fatal(err)
	}
	return heard
}

// TestMEM07RestartIntoAnotherCluster restarts a node as a cluster of its own, on the
// same address and serving the same names. What a node of the first cluster says to the
// incarnation that it knew reaches nobody, and no view changes. What is said the other
// way names a living incarnation: it is the name of the cluster that keeps it out.
func TestMEM07RestartIntoAnotherCluster(t *testing.T) {
	for _, tt := range []struct{ what, name string }{{"of another name", "other"}, {"of the same name", ""}} {
		t.Run(tt.what, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				x := w.startAll(3)
				moved := x[2]
				heardX := []*atomic.Int64{serveEcho(t, x[0]), serveEcho(t, x[1])}
				serveEcho(t, moved)
				far := troupe.Remote(x[0], moved.ID(), "greeter", greetings)
				if got, err := actor.Ask(t.Context(), far, greet{Name: "Ann"}); err != nil {
					t.Fatalf("before the restart: %q, %v", got, err)
				}
				moved.Kill()
				y := w.startWith("n3", func(cfg *troupe.Config) { cfg.Name, cfg.Seeds = tt.name, []string{"n3:2552"} })
				heardY := serveEcho(t, y)
				ways := map[string]actor.Ref[greeting]{"X asks the old incarnation": far}
				if tt.name != "" {
					ways["Y asks a node of X"] = troupe.Remote(y, x[0].ID(), "greeter", greetings)
				}
				// At once, while X still holds on to the old incarnation, and when it knows.
				for _, pause := range []time.Duration{0, time.Minute} {
					time.Sleep(pause)
					for way, ref := range ways {
						for range 100 {
							_ = ref.Tell(t.Context(), hello{}) // perhaps accepted: nobody knows yet
						}
						ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
						if got, err := actor.Ask(ctx, ref, greet{Name: "Bob"}); err == nil {
							t.Errorf("%s after %v: %q, want an error", way, pause, got)
						}
						cancel()
					}
				}
				if got := heardY.Load(); got != 0 {
					t.Errorf("Y heard %d messages of X, want none", got)
				}
				for i, heard := range heardX {
					if got := heard.Load(); got != 0 {
						t.Errorf("%v of X heard %d messages of Y, want none", x[i].ID(), got)
					}
				}
				w.sees(time.Second, x[:2], x[:2])
				w.sees(time.Second, []*troupe.Node{y}, []*troupe.Node{y})
			})
		})
	}
}
