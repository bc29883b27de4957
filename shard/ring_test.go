package shard

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/store"
)

func TestRingIsRefusedWithWhatDoesNotFitIt(t *testing.T) {
	in(t, func(w *world) {
		l, n := newLedger(t), w.start()
		for _, tt := range []struct {
			name  string
			store store.Store
			vary  func(*Type[msg])
			want  string
		}{
			{"no store", nil, func(t *Type[msg]) {}, "set troupe.Config.Store"},
			{"strategy", store.NewMemory(), func(t *Type[msg]) { t.Strategy = placement.LeastShards{} }, "use one of them"},
			{"weight", store.NewMemory(), func(t *Type[msg]) { t.Ring.Weight = 1000 }, "Ring.Weight"},
			{"short lease", store.NewMemory(), func(t *Type[msg]) { t.Ring.Lease = time.Millisecond }, "Ring.Lease is 1ms: use 500ms to 1m0s"},
			{"long lease", store.NewMemory(), func(t *Type[msg]) { t.Ring.Lease = time.Hour }, "Ring.Lease is 1h0m0s"},
			{"poll beyond the lease", store.NewMemory(), func(t *Type[msg]) { t.Ring.Poll = time.Minute }, "Ring.Poll is 1m0s: use 50ms to Lease (3s)"},
			{"negative poll", store.NewMemory(), func(t *Type[msg]) { t.Ring.Poll = -1 }, "Ring.Poll is -1ns"},
			{"long group", store.NewMemory(), func(t *Type[msg]) { t.Ring.Group = strings.Repeat("g", 200) }, "Ring.Group"},
		} {
			w.store = tt.store
			typ := l.declare(n)
			typ.Ring = &Ring{}
			tt.vary(&typ)
			if _, err := join(n, typ); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want it to say %q", tt.name, err, tt.want)
			}
		}
	})
}

func TestRingDefaults(t *testing.T) {
	typ, err := Type[msg]{Name: "room", Start: newLedger(t).start(member.ID{UID: 1}), Protocol: newProtocol(), Ring: &Ring{Lease: 600 * time.Millisecond}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if typ.Shards != 300 || typ.Strategy != nil {
		t.Errorf("with a ring: %d shards and strategy %v, want 300 and none", typ.Shards, typ.Strategy)
	}
	want := Ring{Assign: placement.LeastMovement{}, Group: "default", Lease: 600 * time.Millisecond, Poll: 600 * time.Millisecond}
	if *typ.Ring != want {
		t.Errorf("the ring is %+v, want %+v", *typ.Ring, want)
	}
}
