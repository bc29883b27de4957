package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/store"
)

func testPages(t *testing.T, w *world) {
	a, as := w.open(), of(1, 1)
	var want []string
	for i := range 2*store.MaxPage/100 + 5 {
		want = append(want, fmt.Sprint("key ", i))
	}
	want = append(want, "K", "Key", "key", "Ä", "ä", "z", "€", "😀", "￿", "_", "~", " ", "'", `"`, "%")
	for i, key := range want {
		put(t, a, as, key, 0, fmt.Sprint(i))
	}
	other := as
	other.Shard.ID = "8"
	put(t, a, other, "key of another shard", 0, "")
	slices.Sort(want)
	for _, limit := range []int{1, 3, len(want), store.MaxPage} {
		var got []string
		for after := ""; ; {
			page, err := a.List(wait(t), as.Shard, after, limit)
			if err != nil || len(page) > limit {
				t.Fatalf("List after %q = %d entries, %v; want at most %d", after, len(page), err, limit)
			}
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				got = append(got, e.Key)
				if e.Epoch != as.Epoch || e.Revision != 1 || len(e.Value) == 0 {
					t.Errorf("List gives %+v; want what was put", e)
				}
			}
			after = got[len(got)-1]
		}
		if !slices.Equal(got, want) {
			t.Errorf("List in pages of %d gives\n%q\nwant\n%q", limit, got, want)
		}
	}
	if page, err := a.List(wait(t), store.Shard{Cluster: "c", Type: "Dad", ID: "none"}, "", 10); err != nil || len(page) > 0 {
		t.Errorf("List of a shard that never was = %+v, %v; want nothing", page, err)
	}
}

// testLargePages: a page ends when its values are large, but has one at least.
func testLargePages(t *testing.T, w *world) {
	a, as := w.open(), of(1, 1)
	half := strings.Repeat("x", store.PageBytes/2)
	for _, e := range []struct{ key, value string }{{"a", half}, {"b", half}, {"c", half}, {"d", half + half}, {"e", half[1:]}, {"f", half}, {"g", half}, {"h", half}} {
		put(t, a, as, e.key, 0, e.value)
	}
	var got []string
	for after := ""; ; {
		page, err := a.List(wait(t), as.Shard, after, store.MaxPage)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		keys := ""
		for _, e := range page {
			keys += e.Key
		}
		got, after = append(got, keys), page[len(page)-1].Key
	}
	if want := []string{"ab", "cd", "efg", "h"}; !slices.Equal(got, want) {
		t.Errorf("the pages are %q; want %q", got, want)
	}
}
