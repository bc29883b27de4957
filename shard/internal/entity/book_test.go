package entity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A shelf is the store of the tests.
type shelf map[int]struct {
	revision uint64
	value    []byte
}

func (s shelf) put(t *testing.T, w Write) uint64 {
	t.Helper()
	at := s[w.Page]
	if at.revision != w.Revision {
		t.Fatalf("page %d is written at revision %d, it has %d", w.Page, w.Revision, at.revision)
	}
	at.revision, at.value = at.revision+1, w.Value
	s[w.Page] = at
	return at.revision
}

// drain writes all that is due, and gives how many writes that took.
func (s shelf) drain(t *testing.T, b *Book) (writes int) {
	t.Helper()
	for {
		w, ok := b.Next()
		if !ok {
			return writes
		}
		b.Written(s.put(t, w))
		writes++
	}
}

func (s shelf) read(t *testing.T) *Book {
	t.Helper()
	b := new(Book)
	for n, at := range s {
		if err := b.Load(n, at.revision, at.value); err != nil {
			t.Fatalf("page %d: %v", n, err)
		}
	}
	return b
}

func sorted(ids []string) []string { return slices.Sorted(slices.Values(ids)) }

func TestBookRemembers(t *testing.T) {
	s, b := shelf{}, new(Book)
	var want []string
	for i := range 500 {
		id := fmt.Sprintf("#chat-%d \"quoted\"\n\xff", i)
		want = append(want, id)
		if !b.Start(id, 1<<20) {
			t.Fatalf("page of %q is full", id)
		}
	}
	if writes := s.drain(t, b); writes > Pages {
		t.Errorf("500 starts took %d writes, want one a page", writes)
	}
	if got := sorted(s.read(t).IDs()); !slices.Equal(got, sorted(want)) {
		t.Errorf("stored %d ids, want %d: %.3q…", len(got), len(want), got)
	}
	b = s.read(t)
	for _, id := range want[100:] {
		b.Stop(id)
	}
	s.drain(t, b)
	if got := sorted(s.read(t).IDs()); !slices.Equal(got, sorted(want[:100])) {
		t.Errorf("%d ids are left, want 100", len(got))
	}
}

// What comes while a page is written goes with its next write, and a write whose
// outcome is not known is repeated as it was.
func TestBookRepeatsAWrite(t *testing.T) {
	s, b := shelf{}, new(Book)
	b.Start("a", 1000)
	w, _ := b.Next()
	b.Start("a2", 1000)
	for i := range 40 {
		b.Start(fmt.Sprint("b", i), 1000) // some are on the same page
	}
	if again, ok := b.Next(); !ok || string(again.Value) != string(w.Value) || again.Revision != w.Revision || again.Page != w.Page {
		t.Errorf("repeats %+v, want %+v", again, w)
	}
	if !slices.Equal(w.Started, []string{"a"}) || string(w.Value) != "\"a\"\n" || !b.Due() {
		t.Errorf("first write %+v, want a alone, and that it is due", w)
	}
	s.drain(t, b)
	if got := len(s.read(t).IDs()); got != 42 || b.Due() {
		t.Errorf("stored %d ids, want 42; more is due: %t", got, b.Due())
	}
}

func TestBookHasBounds(t *testing.T) {
	b := new(Book)
	long := strings.Repeat("x", 90)
	if !b.Start(long, 100) || b.Start(long, 100) {
		t.Error("a page of 100 bytes takes an id of 93 once")
	}
	b.Stop(long)
	if !b.Start(long, 100) {
		t.Error("the room of what is forgotten is not given back")
	}
}

func TestBookRefusesWhatItHasNotWritten(t *testing.T) {
	for _, value := range []string{"a\n", "\"a\"", "\n", "'a'\n", "\"a\" \n", "\"a\"\n\"b\n"} {
		if err := new(Book).Load(0, 1, []byte(value)); err == nil {
			t.Errorf("a page of %q was taken", value)
		}
	}
}

func FuzzBookPage(f *testing.F) {
	f.Add([]byte("\"a\"\n\"b/#\\n\"\n"))
	f.Add([]byte("\"a\n"))
	f.Add([]byte{0xff})
	f.Fuzz(func(t *testing.T, value []byte) {
		ids, err := parse(value)
		if err != nil {
			return
		}
		var again []byte
		for _, id := range ids {
			again = quoted(again, id)
		}
		if back, err := parse(again); err != nil || !slices.Equal(back, ids) {
			t.Errorf("page %q gives %q, and written again %q, %v", value, ids, back, err)
		}
	})
}
