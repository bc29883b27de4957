package store_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/store"
)

func tenure(term, n uint64) store.Tenure {
	return store.Tenure{Shard: store.Shard{Cluster: "dadbot", Type: "Dad", ID: "320"}, Epoch: store.Epoch{Term: term, N: n}}
}

func TestFenceAdmits(t *testing.T) {
	for _, tt := range []struct {
		fence, epoch store.Epoch
		refusal      string
	}{
		{store.Epoch{}, store.Epoch{N: 1}, ""},
		{store.Epoch{Term: 3, N: 17}, store.Epoch{Term: 3, N: 17}, ""},
		{store.Epoch{Term: 3, N: 17}, store.Epoch{Term: 3, N: 18}, ""},
		{store.Epoch{Term: 3, N: 17}, store.Epoch{Term: 4}, ""},
		{store.Epoch{Term: 3, N: 17}, store.Epoch{Term: 3, N: 16}, "store: stale epoch: shard dadbot/Dad/320 is owned under epoch 3.17 now, not 3.16: the owner of then must stop"},
		{store.Epoch{Term: 3, N: 17}, store.Epoch{Term: 2, N: 99}, "store: stale epoch: shard dadbot/Dad/320 is owned under epoch 3.17 now, not 2.99: the owner of then must stop"},
	} {
		before := store.Fence{Epoch: tt.fence, Deleted: 5}
		after, err := before.Admit(tenure(tt.epoch.Term, tt.epoch.N))
		if got := text(err); got != tt.refusal {
			t.Errorf("epoch %v at %v: %q; want %q", tt.epoch, tt.fence, got, tt.refusal)
		}
		if want := (store.Fence{Epoch: tt.epoch, Deleted: 5}); err == nil && after != want || err != nil && after != before {
			t.Errorf("epoch %v leaves %v as %v", tt.epoch, before, after)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestFencePuts(t *testing.T) {
	fence := store.Fence{Epoch: store.Epoch{Term: 2}, Deleted: 5}
	old := store.Entry{Key: "k", Value: []byte("a"), Revision: 7, Epoch: store.Epoch{Term: 1}}
	own := store.Entry{Key: "k", Value: []byte("a"), Revision: 7, Epoch: store.Epoch{Term: 2}}
	for _, tt := range []struct {
		what  string
		found store.Entry
		at    store.Revision
		value string
		want  string // revision and value, or the refusal
	}{
		{"the first", fence.Absent("k"), 5, "b", "6 b"},
		{"the next", own, 7, "b", "8 b"},
		{"the next after another owner's", old, 7, "b", "8 b"},
		{"a repetition", own, 6, "a", "7 a"},
		{"another value at the same revision", own, 6, "b", `store: revision conflict: key "k" of shard dadbot/Dad/320 is at revision 7, not 6: read it again`},
		{"the same by another owner", old, 6, "a", `store: revision conflict: key "k" of shard dadbot/Dad/320 is at revision 7, not 6: read it again`},
		{"from before a deletion", fence.Absent("k"), 4, "b", `store: revision conflict: key "k" of shard dadbot/Dad/320 is not there, at revision 5, not 4: read it again`},
		{"from the future", own, 8, "a", `store: revision conflict: key "k" of shard dadbot/Dad/320 is at revision 7, not 8: read it again`},
	} {
		e, err := fence.Put(tenure(2, 0), tt.found, tt.at, []byte(tt.value))
		got := text(err)
		if err == nil {
			got = fmt.Sprintf("%d %s", e.Revision, e.Value)
		}
		if got != tt.want || err == nil && (e.Key != "k" || e.Epoch != fence.Epoch) {
			t.Errorf("%s: %q in %+v; want %q", tt.what, got, e, tt.want)
		}
	}
}

func TestFenceDeletes(t *testing.T) {
	fence := store.Fence{Epoch: store.Epoch{Term: 2}, Deleted: 5}
	entry := func(r store.Revision) store.Entry {
		return store.Entry{Key: "k", Revision: r, Epoch: store.Epoch{Term: 1}}
	}
	for _, tt := range []struct {
		what  string
		found store.Entry
		at    store.Revision
		want  store.Revision // of keys that are not there; 0 for a refusal
	}{
		{"a new key", entry(7), 7, 8},
		{"a key from before the last deletion", entry(3), 3, 6},
		{"an old revision", entry(7), 6, 0},
		{"a repetition", fence.Absent("k"), 4, 5},
	} {
		after, err := fence.Delete(tenure(2, 0), tt.found, tt.at)
		if (err != nil) != (tt.want == 0) || err == nil && after.Deleted != tt.want || after.Epoch != fence.Epoch {
			t.Errorf("%s: %+v, %v; want %d", tt.what, after, err, tt.want)
		}
	}
}

// TestRevisionsNeverReturn: whatever happens to a shard, a key has a revision for
// one state only, and each is above those before.
func TestRevisionsNeverReturn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fence := store.Fence{Epoch: store.Epoch{Term: 1}}
		keys := []string{"a", "b", "c"}
		entries, highest, as := map[string]store.Entry{}, map[string]store.Revision{}, tenure(1, 0)
		find := func(key string) store.Entry {
			if e, ok := entries[key]; ok {
				return e
			}
			return fence.Absent(key)
		}
		for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
			key := rapid.SampledFrom(keys).Draw(t, "key")
			found, at := find(key), store.Revision(rapid.IntRange(0, 12).Draw(t, "at"))
			if rapid.Bool().Draw(t, "knows") {
				at = found.Revision
			}
			if rapid.Bool().Draw(t, "put") {
				if e, err := fence.Put(as, found, at, []byte{byte(step)}); err == nil {
					entries[key] = e
				}
			} else if after, err := fence.Delete(as, found, at); err == nil {
				fence = after
				delete(entries, key)
			}
			now := find(key)
			changed := now.Exists() != found.Exists() || string(now.Value) != string(found.Value)
			if changed && now.Revision <= highest[key] || changed && at != found.Revision {
				t.Fatalf("step %d: key %s went from %+v to %+v by a write at %d, after revision %d", step, key, found, now, at, highest[key])
			}
			for _, k := range keys {
				if r := find(k).Revision; r < highest[k] {
					t.Fatalf("step %d: key %s is back at revision %d after %d", step, k, r, highest[k])
				}
				highest[k] = find(k).Revision
			}
		}
	})
}
