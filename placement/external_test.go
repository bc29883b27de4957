package placement

import (
	"slices"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

func TestExternal(t *testing.T) {
	at := func(s State, i int) member.Address { return s.Regions[i].ID.Address }
	tests := []struct {
		name     string
		change   func(s *State)
		strategy External
		moving   []string
		want     []string // moves
		place    int      // region of shard 7, allocated anew
	}{
		{
			name:   "no homes: as otherwise",
			change: func(*State) {},
			want:   nil,
			place:  0,
		},
		{
			name:   "a home",
			change: func(s *State) { s.Homes = map[string]member.Address{"7": at(*s, 2)} },
			want:   []string{"7"},
			place:  2,
		},
		{
			name:   "already moving",
			change: func(s *State) { s.Homes = map[string]member.Address{"7": at(*s, 2)} },
			moving: []string{"7"},
			want:   nil,
			place:  2,
		},
		{
			name: "a limit",
			change: func(s *State) {
				s.Homes = map[string]member.Address{"0": at(*s, 1), "3": at(*s, 1), "7": at(*s, 2)}
			},
			strategy: External{Limit: 2},
			want:     []string{"0", "3"},
			place:    2,
		},
		{
			name: "a restarted node is the same home",
			change: func(s *State) {
				s.Homes = map[string]member.Address{"7": at(*s, 2)}
				s.Regions[2].ID.UID, s.Members[2].UID = 99, 99
			},
			want:  []string{"7"},
			place: 2,
		},
		{
			name:   "nobody at the home",
			change: func(s *State) { s.Homes = map[string]member.Address{"7": {Host: "nowhere", Port: 1}} },
			want:   nil,
			place:  0,
		},
		{
			name: "the home is leaving",
			change: func(s *State) {
				s.Homes = map[string]member.Address{"7": at(*s, 2)}
				s.Members[2].Status = member.Leaving
			},
			want:  nil,
			place: 0,
		},
		{
			name: "a rolling update holds nobody up who was sent home",
			change: func(s *State) {
				s.Homes = map[string]member.Address{"7": at(*s, 2)}
				s.Members[1].AppVersion = "2.0"
			},
			want:  []string{"7"},
			place: 2,
		},
		{
			name: "an unreachable member does",
			change: func(s *State) {
				s.Homes = map[string]member.Address{"7": at(*s, 2)}
				s.Unreachable = []member.ID{s.Members[1].ID}
			},
			want:  nil,
			place: 2,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := cluster(3)
			fill(t, LeastShards{}, &s, 9) // shard n is at region n%3
			tt.change(&s)
			if got := tt.strategy.Rebalance(s, tt.moving); !slices.Equal(got, tt.want) {
				t.Errorf("moves %v, want %v", got, tt.want)
			}
			s.Regions[1].Shards = slices.DeleteFunc(s.Regions[1].Shards, func(shard string) bool { return shard == "7" })
			if tt.place == 0 { // the one with the fewest otherwise
				s.Regions[0].Shards = nil
			}
			if got, ok := tt.strategy.Allocate(s, "7"); !ok || got != s.Regions[tt.place].ID {
				t.Errorf("shard 7 goes to %v (%v), want %v", got, ok, s.Regions[tt.place].ID)
			}
		})
	}
}

// Shards with homes do not count when the rest is balanced: otherwise the two
// would pull at them for ever.
func TestExternalSettlesWithEverythingPinnedToOne(t *testing.T) {
	s := cluster(3)
	fill(t, LeastShards{}, &s, 90)
	s.Homes = map[string]member.Address{}
	for shard := range 60 {
		s.Homes[ShardText(shard)] = s.Regions[0].ID.Address
	}
	for shard, n := range settle(t, External{}, &s) {
		if n > 1 {
			t.Errorf("shard %s moved %d times", shard, n)
		}
	}
	for shard := range 60 {
		if !slices.Contains(s.Regions[0].Shards, ShardText(shard)) {
			t.Errorf("shard %d is not at its home: %v", shard, s.Regions)
		}
	}
	if got := counts(s.withoutHomes()); !slices.Equal(got, []int{10, 10, 10}) {
		t.Errorf("the rest is spread as %v, want 10 each", got)
	}
}
