package placement

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/troupe-go/troupe/internal/vectortest"
)

func TestVectorsShardID(t *testing.T) {
	vectortest.Run(t, "shard_id", map[string]vectortest.Check{
		"hash_code_shard":  vectortest.Kind(checkJavaHash),
		"slice":            vectortest.Kind(checkSlice),
		"slice_ranges":     vectortest.Kind(checkSliceRanges),
		"murmur2":          vectortest.Kind(checkMurmur2),
		"daemon_id_decode": vectortest.Kind(checkDaemonDecode),
		"daemon_id_encode": vectortest.Kind(checkDaemonEncode),
	})
}

type entityInput struct {
	EntityID string `json:"entity_id"`
}

type hashWant struct {
	HashCode int32             `json:"hash_code"`
	Shards   map[string]string `json:"shards"`
}

func checkJavaHash(t *testing.T, in entityInput, want hashWant) {
	if got := StringHash(in.EntityID); got != want.HashCode {
		t.Errorf("StringHash(%q) = %d, want %d", in.EntityID, got, want.HashCode)
	}
	for n, shard := range want.Shards {
		if got := ShardText(JavaHash(in.EntityID, atoi(t, n))); got != shard {
			t.Errorf("JavaHash(%q, %s) = %s, want %s", in.EntityID, n, got, shard)
		}
	}
}

type sliceInput struct {
	PersistenceID string `json:"persistence_id"`
}

func checkSlice(t *testing.T, in sliceInput, want struct {
	Slice int `json:"slice"`
},
) {
	if got := Slice(in.PersistenceID); got != want.Slice {
		t.Errorf("Slice(%q) = %d, want %d", in.PersistenceID, got, want.Slice)
	}
}

func checkSliceRanges(t *testing.T, in struct {
	Ranges int `json:"ranges"`
}, want struct {
	Ranges [][2]int `json:"ranges"`
	Error  string   `json:"error"`
},
) {
	ranges, err := SliceRanges(in.Ranges)
	if (want.Error == "not_a_divisor") != errors.Is(err, ErrNotADivisor) {
		t.Errorf("SliceRanges(%d): error %v, want %q", in.Ranges, err, want.Error)
	}
	var got [][2]int
	for _, r := range ranges {
		got = append(got, [2]int{r.First, r.Last})
	}
	if !slices.Equal(got, want.Ranges) {
		t.Errorf("SliceRanges(%d) = %v, want %v", in.Ranges, got, want.Ranges)
	}
}

func checkMurmur2(t *testing.T, in struct {
	Text            string `json:"text"`
	NumbersOfShards []int  `json:"numbers_of_shards"`
}, want struct {
	Hash   int32             `json:"hash"`
	Shards map[string]string `json:"shards"`
},
) {
	if got := int32(murmur2(in.Text)); got != want.Hash {
		t.Errorf("murmur2(%q) = %d, want %d", in.Text, got, want.Hash)
	}
	if len(in.NumbersOfShards) != len(want.Shards) {
		t.Errorf("asked for %v, answers for %v", in.NumbersOfShards, want.Shards)
	}
	for _, n := range in.NumbersOfShards {
		if got, want := ShardText(Murmur2(in.Text, n)), want.Shards[strconv.Itoa(n)]; got != want {
			t.Errorf("Murmur2(%q, %d) = %s, want %s", in.Text, n, got, want)
		}
	}
}

type daemon struct {
	Revision int64 `json:"revision"`
	Total    int   `json:"total"`
	Number   int   `json:"number"`
}

func checkDaemonDecode(t *testing.T, in struct {
	EntityID          string `json:"entity_id"`
	SuppliedProcesses int    `json:"supplied_processes"`
}, want daemon,
) {
	got, err := ParseDaemonID(in.EntityID, in.SuppliedProcesses)
	if err != nil || got != DaemonID(want) {
		t.Errorf("ParseDaemonID(%q, %d) = %+v, %v, want %+v", in.EntityID, in.SuppliedProcesses, got, err, want)
	}
}

func checkDaemonEncode(t *testing.T, in daemon, want struct {
	EntityID string `json:"entity_id"`
	ShardID  string `json:"shard_id"`
},
) {
	id := DaemonID(in)
	if id.String() != want.EntityID || id.Shard() != want.ShardID {
		t.Errorf("%+v: id %q, shard %q, want %q, %q", in, id.String(), id.Shard(), want.EntityID, want.ShardID)
	}
}

func TestVectorsConsistentHash(t *testing.T) {
	vectortest.Run(t, "consistent_hash", map[string]vectortest.Check{
		"ring_string_hash": vectortest.Kind(checkRingHash),
		"ring_node_for":    vectortest.Kind(checkRing),
	})
}

func checkRingHash(t *testing.T, in struct {
	Text string `json:"text"`
}, want struct {
	Hash int32 `json:"hash"`
},
) {
	if got := ringHash(in.Text); got != want.Hash {
		t.Errorf("ringHash(%q) = %d, want %d", in.Text, got, want.Hash)
	}
}

func checkRing(t *testing.T, in struct {
	Nodes  []string `json:"nodes"`
	Factor int      `json:"virtual_nodes_factor"`
	Keys   []string `json:"keys"`
}, want struct {
	NodeFor map[string]string `json:"node_for"`
},
) {
	r := newRing(in.Nodes, in.Factor)
	for _, key := range in.Keys {
		wanted, ok := want.NodeFor[key]
		if got := in.Nodes[r.nodeFor(key)]; !ok || got != wanted {
			t.Errorf("node for %q = %q, want %q", key, got, wanted)
		}
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
