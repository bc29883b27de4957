package placement

import (
	"slices"
	"testing"
	"unicode/utf16"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/vectortest"
)

func TestVectorsEffectShardID(t *testing.T) {
	vectortest.Run(t, "effect_shard_id", map[string]vectortest.Check{"": vectortest.Kind(checkEffectShard)})
}

func checkEffectShard(t *testing.T, in struct {
	EntityID       string `json:"entityId"`
	ShardsPerGroup int    `json:"shardsPerGroup"`
}, want struct {
	Hash    int32  `json:"hash"`
	Shard   int    `json:"shard"`
	ShardID string `json:"shardId"`
},
) {
	if got := effectHash(in.EntityID); got != want.Hash {
		t.Errorf("hash of %q = %d, want %d", in.EntityID, got, want.Hash)
	}
	n := EffectHash(in.EntityID, in.ShardsPerGroup)
	if text := (GroupShard{Number: n}).String(); n+1 != want.Shard || text != want.ShardID {
		t.Errorf("shard of %q = %d, %q, want %d, %q", in.EntityID, n+1, text, want.Shard, want.ShardID)
	}
}

func effectHash(s string) int32 { return effectSum(effectAdd(effectStart, s)) }

func TestVectorsEffectRing(t *testing.T) {
	vectortest.Run(t, "effect_ring", map[string]vectortest.Check{"": vectortest.Kind(checkEffectRing)})
}

type effectRunner struct {
	Host   string  `json:"host"`
	Port   int     `json:"port"`
	Weight float64 `json:"weight"`
}

func (r effectRunner) build() Runner {
	return Runner{Address: member.Address{Host: r.Host, Port: r.Port}, Weight: r.Weight}
}

type effectInput struct {
	Op      string         `json:"op"`
	Shards  int            `json:"shards"`
	Runners []effectRunner `json:"runners"`
	History []struct {
		Do string `json:"do"`
		effectRunner
	} `json:"history"`
	Runner effectRunner `json:"runner"`
	Text   string       `json:"string"`
	Keys   []string     `json:"keys"`
}

type effectWant struct {
	Counts     map[string]int `json:"counts"`
	Assignment []string       `json:"assignment"`
	Hash       int32          `json:"hash"`
	Count      int            `json:"count"`
	Ascending  []int32        `json:"hashesAscending"`
	Nodes      []string       `json:"nodes"`
}

func (in effectInput) runners() []Runner {
	var runners []Runner
	for _, r := range in.Runners {
		runners = append(runners, r.build())
	}
	return runners
}

// lived are the runners in the order in which they came.
func (in effectInput) lived(t *testing.T) []Runner {
	var runners []Runner
	for _, h := range in.History {
		r := h.build()
		runners = slices.DeleteFunc(runners, func(o Runner) bool { return o.Address == r.Address })
		switch h.Do {
		case "add":
			runners = append(runners, r)
		case "remove":
		default:
			t.Fatalf("unknown step %q", h.Do)
		}
	}
	return runners
}

func checkEffectRing(t *testing.T, in effectInput, want effectWant) {
	switch in.Op {
	case "hash":
		if got := effectHash(in.Text); got != want.Hash {
			t.Errorf("hash of %q = %d, want %d", in.Text, got, want.Hash)
		}
	case "points":
		var got []int32
		for _, p := range newLine(Group{}.servers([]Runner{in.Runner.build()})) {
			got = append(got, p.at)
		}
		if len(got) != want.Count || !slices.Equal(got, want.Ascending) {
			t.Errorf("%d points %v, want %d: %v", len(got), got, want.Count, want.Ascending)
		}
	case "get":
		servers := Group{}.servers(in.runners())
		var got []string
		for _, key := range in.Keys {
			i, _ := newLine(servers).nearest(effectHash(key))
			got = append(got, servers[i].key)
		}
		if !slices.Equal(got, want.Nodes) {
			t.Errorf("nodes of %v: %v, want %v", in.Keys, got, want.Nodes)
		}
	case "assign":
		checkEffectAssign(t, in.Shards, in.runners(), want)
		if in.History != nil {
			checkEffectAssign(t, in.Shards, in.lived(t), want)
		}
	default:
		t.Fatalf("unknown op %q", in.Op)
	}
}

func checkEffectAssign(t *testing.T, shards int, runners []Runner, want effectWant) {
	t.Helper()
	homes := Compatible{}.Assign(Group{Shards: shards}, runners, nil)
	if len(runners) == 0 {
		if want.Assignment != nil || slices.ContainsFunc(homes, func(a member.Address) bool { return !a.IsZero() }) {
			t.Errorf("without runners: %v, want %v", homes, want.Assignment)
		}
		return
	}
	counts := map[string]int{}
	for _, r := range runners {
		counts[r.Address.String()] = 0
	}
	var got []string
	for _, a := range homes {
		got = append(got, a.String())
		counts[a.String()]++
	}
	if !slices.Equal(got, want.Assignment) {
		t.Errorf("assignment of %d shards to %v:\n%v, want\n%v", shards, runners, got, want.Assignment)
	}
	if len(counts) != len(want.Counts) {
		t.Errorf("counts %v, want %v", counts, want.Counts)
	}
	for runner, n := range want.Counts {
		if counts[runner] != n {
			t.Errorf("%s holds %d, want %d", runner, counts[runner], n)
		}
	}
}

func FuzzEffectHash(f *testing.F) {
	for _, s := range []string{"", "a", "shard-299", "Käse", "日本語", "🧀🧀", "a\xff\xf0\x9f", "\xed\xa0\x80"} {
		f.Add(s, 300)
	}
	f.Fuzz(func(t *testing.T, s string, shards int) {
		units := utf16.Encode([]rune(s))
		h := int32(5381)
		for _, u := range slices.Backward(units) {
			h = h*33 ^ int32(u)
		}
		want := int32(uint32(h)&0xbfffffff | uint32(h)>>1&0x40000000)
		if got := effectHash(s); got != want {
			t.Errorf("hash of %q = %d, want %d", s, got, want)
		}
		if shards = shards & 0xffff; shards > 0 {
			if n := EffectHash(s, shards); n < 0 || n >= shards {
				t.Errorf("EffectHash(%q, %d) = %d", s, shards, n)
			}
		}
	})
}
