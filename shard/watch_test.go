package shard

import (
	"testing"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

func TestWatch(t *testing.T) {
	start := time.Unix(1000, 0)
	after := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	home := protocol.Waiting{Shard: "1", Wait: troupe.Wait{What: WaitHome, Why: "none", Since: start}}
	unknown := protocol.Waiting{Wait: troupe.Wait{What: WaitDecider, Why: "none"}}
	limited := protocol.Waiting{Shard: "2", Wait: troupe.Wait{What: WaitHandOver, Why: "acks", Since: start, Until: after(5)}}
	ending := protocol.Waiting{Shard: "3", Wait: troupe.Wait{What: WaitEnd, Why: "ends", Since: start, Until: after(5)}}
	again := home
	again.Wait.Since = after(20)
	for _, tt := range []struct {
		name  string
		looks map[int][]protocol.Waiting // by second
		want  map[int][2]int             // overdue, and for the first time; nothing where none is named
		fatal int                        // from when on
	}{
		{
			name:  "one without a limit, told once",
			looks: map[int][]protocol.Waiting{1: {home}, 10: {home}, 11: {home}, 12: {home}, 13: {}},
			want:  map[int][2]int{11: {1, 1}, 12: {1, 0}},
		},
		{
			name:  "one that began anew is another",
			looks: map[int][]protocol.Waiting{11: {home}, 21: {again}, 31: {again}, 32: {again}},
			want:  map[int][2]int{11: {1, 1}, 31: {1, 1}, 32: {1, 0}},
		},
		{
			name:  "one of which nobody knows since when counts from when it was seen",
			looks: map[int][]protocol.Waiting{5: {unknown}, 15: {unknown}, 16: {unknown}},
			want:  map[int][2]int{16: {1, 1}},
		},
		{
			name:  "one with a limit of its own",
			looks: map[int][]protocol.Waiting{5: {limited}, 6: {limited, home}, 7: {limited}},
			want:  map[int][2]int{6: {1, 1}, 7: {1, 0}},
		},
		{
			name:  "entities that do not end are fatal after their grace",
			looks: map[int][]protocol.Waiting{6: {ending}, 35: {ending}, 36: {ending}},
			want:  map[int][2]int{6: {1, 1}, 35: {1, 0}, 36: {1, 0}},
			fatal: 36,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWatch("room", 10*time.Second, 30*time.Second)
			for s := range 60 {
				waiting, looks := tt.looks[s]
				if !looks {
					continue
				}
				overdue, fresh := w.look(after(s), waiting)
				if got := [2]int{len(overdue), len(fresh)}; got != tt.want[s] {
					t.Errorf("after %d s: overdue and new %v, want %v", s, got, tt.want[s])
				}
				for _, x := range overdue {
					if fatal := tt.fatal > 0 && s >= tt.fatal; x.Fatal != fatal || x.Type != "room" {
						t.Errorf("after %d s: %+v, want fatal: %t", s, x, fatal)
					}
				}
				if got := !w.wake().IsZero(); got != (len(waiting) > 0) {
					t.Errorf("after %d s: looks again: %t", s, got)
				}
			}
		})
	}
}
