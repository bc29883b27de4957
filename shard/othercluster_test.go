package shard_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/transport"
)

// TestMEM07EntitiesOfTwoClusters restarts a node of a cluster as a cluster of its own,
// of the same name and on the same address, with the same entity type. While both
// are busy, no entity hears what was told in the other cluster, and each is asked where
// it lives in its own.
func TestMEM07EntitiesOfTwoClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := transport.NewMemory()
		start := func(port int, seed int) *troupe.Node {
			n, err := troupe.Start(t.Context(), troupe.Config{
				Listen: fmt.Sprintf("127.0.0.1:%d", port), Seeds: []string{fmt.Sprintf("127.0.0.1:%d", seed)},
				Transport: memory, Log: slog.New(slog.DiscardHandler),
			})
			if err == nil {
				t.Cleanup(n.Kill)
				err = n.WhenUp(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		inX, inY := &notes{by: map[string][]int{}}, &notes{by: map[string][]int{}}
		var rooms []*shard.Entities[roomMsg]
		var nodes []*troupe.Node
		for i := range 3 {
			nodes = append(nodes, start(9000+i, 9000))
			rooms = append(rooms, joinRooms(t, nodes[i], inX))
		}
		talk := func(who string, n int, through ...*shard.Entities[roomMsg]) {
			for i := range 30 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				// Refused or accepted: what counts is who hears it.
				_ = through[i%len(through)].Ref(fmt.Sprint("r", i)).Tell(ctx, note{who, n})
				cancel()
			}
			time.Sleep(100 * time.Millisecond)
		}
		talk("x", 0, rooms...)
		nodes[2].Kill()
		y := start(9002, 9002)
		own := joinRooms(t, y, inY)
		for n := 1; n < 200; n++ { // 40 seconds: long before X knows, and long after
			talk("x", n, rooms[:2]...)
			talk("y", n, own)
		}
		for i := range 30 {
			room := fmt.Sprint("r", i)
			if stray := inY.of(room + " x"); len(stray) > 0 {
				t.Errorf("%s in Y heard %v from X, want nothing", room, stray)
			}
			if stray := inX.of(room + " y"); len(stray) > 0 {
				t.Errorf("%s in X heard %v from Y, want nothing", room, stray)
			}
			if x, own := inX.of(room+" x"), inY.of(room+" y"); !slices.Contains(x, 199) || !slices.Contains(own, 199) {
				t.Errorf("%s heard %v in X and %v in Y, want the last message, 199, in both", room, x, own)
			}
			for of, through := range map[string]*shard.Entities[roomMsg]{"X": rooms[0], "Y": own} {
				home, err := actor.Ask(t.Context(), through.Ref(room), where{})
				if err != nil || (home == y.ID().String()) != (of == "Y") {
					t.Errorf("%s of %s is on %s, %v; Y is %s", room, of, home, err, y.ID())
				}
			}
		}
		if got := len(y.View().Members); got != 1 || strings.Contains(fmt.Sprint(nodes[0].View().Members), y.ID().String()) {
			t.Errorf("Y has %d members, want itself; X has %v", got, nodes[0].View().Members)
		}
	})
}
