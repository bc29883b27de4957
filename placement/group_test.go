package placement

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

// Two nodes serve {a,b} and {b,c}: the key of a shard is the same on both,
// whatever else they serve, and no two shards have the same, not even where the
// names of groups look like keys.
func TestDWN07ShardKeysAreUniqueAcrossGroups(t *testing.T) {
	groups := []string{"a", "b", "c", "a:1", "a:", ":", "1", "1:1", DefaultGroup, "ä"}
	keys := map[string]GroupShard{}
	for _, group := range groups {
		for n := range 300 {
			s := GroupShard{Group: group, Number: n}
			key := s.String()
			if other, ok := keys[key]; ok {
				t.Errorf("%#v and %#v have the same key %q", s, other, key)
			}
			keys[key] = s
			if got, err := ParseGroupShard(key); err != nil || got != s {
				t.Errorf("ParseGroupShard(%q) = %#v, %v, want %#v", key, got, err, s)
			}
		}
	}
	if len(keys) != len(groups)*300 {
		t.Errorf("%d keys, want %d", len(keys), len(groups)*300)
	}
}

func FuzzParseGroupShard(f *testing.F) {
	for _, s := range []string{"default:1", "a:1:300", ":1", "a:0", "a:01", "a:-1", "a", "a:99999999999", "::7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseGroupShard(text)
		switch {
		case err != nil && !errors.Is(err, ErrGroupShard):
			t.Errorf("ParseGroupShard(%q): %v, want ErrGroupShard", text, err)
		case err == nil && (s.String() != text || s.Number < 0 || s.Group == ""):
			t.Errorf("ParseGroupShard(%q) = %#v, which is written %q", text, s, s)
		}
	})
}

func TestRunnerCheck(t *testing.T) {
	address := member.Address{Host: "a", Port: 1}
	tests := []struct {
		name   string
		runner Runner
		want   []string // parts of the error; none for no error
	}{
		{"plain", Runner{Address: address}, nil},
		{"all set", Runner{Address: address, Weight: 2.5, Groups: []string{"a", "b"}}, nil},
		{"everything wrong", Runner{Weight: -1, Groups: []string{"a", "", "a"}}, []string{
			"without an address", "weight -1: must be from 0.1 to 100", "group 1 has no name", `"a" is named twice`,
		}},
		{"too heavy", Runner{Address: address, Weight: 1e9}, []string{"weight 1e+09"}},
	}
	for _, tt := range tests {
		err := tt.runner.Check()
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q, want %q in it", tt.name, err, part)
			}
		}
	}
}

func TestWeightsOfOthersAreBounded(t *testing.T) {
	zero := 0.0
	runners := runnersOf(5)
	for i, w := range []float64{zero, zero / zero, -5, 1e300, 1} {
		runners[i].Weight = w
	}
	for _, a := range []Assigner{LeastMovement{}, Compatible{}} {
		for shard, home := range a.Assign(Group{Shards: 300}, runners, nil) {
			if home.IsZero() {
				t.Errorf("%s: shard %d has no home", a.Name(), shard)
			}
		}
	}
	if n := len(newLine(Group{}.servers(runners))); n != 13+3*linePoints+100*linePoints {
		t.Errorf("%d points on the line, want those of weights 0.1, 1, 1, 1 and 100", n)
	}
}
