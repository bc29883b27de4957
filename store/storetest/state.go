package storetest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/store"
)

// of is an ownership of shard 7 of the tests.
func of(term, n uint64) store.Tenure {
	return store.Tenure{Shard: store.Shard{Cluster: "c", Type: "Dad", ID: "7"}, Epoch: store.Epoch{Term: term, N: n}}
}

// claim expects the epoch to become the shard's.
func claim(t testing.TB, s store.Store, as store.Tenure) {
	t.Helper()
	if err := s.Claim(wait(t), as); err != nil {
		t.Fatalf("Claim %v of %v = %v", as.Epoch, as.Shard, err)
	}
}

// put expects the value to be written.
func put(t testing.TB, s store.Store, as store.Tenure, key string, at store.Revision, value string) store.Revision {
	t.Helper()
	next, err := s.Put(wait(t), as, key, at, []byte(value))
	if err != nil || next <= at {
		t.Fatalf("Put %q at %d under %v = %d, %v; want a higher revision", key, at, as.Epoch, next, err)
	}
	return next
}

// remove expects the entry to be deleted.
func remove(t testing.TB, s store.Store, as store.Tenure, key string, at store.Revision) store.Revision {
	t.Helper()
	next, err := s.Delete(wait(t), as, key, at)
	if err != nil || next <= at {
		t.Fatalf("Delete %q at %d under %v = %d, %v; want a higher revision", key, at, as.Epoch, next, err)
	}
	return next
}

// has expects the value under the key, written in the tenure.
func has(t testing.TB, s store.Store, as store.Tenure, key, value string) store.Revision {
	t.Helper()
	e, err := s.Get(wait(t), as.Shard, key)
	if err != nil || !e.Exists() || e.Key != key || string(e.Value) != value || e.Epoch != as.Epoch || e.Revision == 0 {
		t.Fatalf("Get %q = %+v, %v; want %q of epoch %v", key, e, err, value, as.Epoch)
	}
	return e.Revision
}

// hasNot expects no such key.
func hasNot(t testing.TB, s store.Store, shard store.Shard, key string) store.Revision {
	t.Helper()
	e, err := s.Get(wait(t), shard, key)
	if err != nil || e.Exists() || e.Key != key || len(e.Value) > 0 {
		t.Fatalf("Get %q = %+v, %v; want nothing", key, e, err)
	}
	return e.Revision
}

// stale expects the tenure to be refused in favour of a higher one.
func stale(t testing.TB, what string, err error, as, highest store.Tenure) {
	t.Helper()
	refused(t, what, err, store.ErrStaleEpoch)
	var e *store.StaleEpochError
	if !errors.As(err, &e) || *e != (store.StaleEpochError{Shard: as.Shard, Epoch: as.Epoch, Highest: highest.Epoch}) {
		t.Errorf("%s = %#v; want both epochs, %v and %v", what, err, as.Epoch, highest.Epoch)
	}
	for _, text := range []string{as.Epoch.String(), highest.Epoch.String(), as.Shard.String()} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s = %v; want %s in it", what, err, text)
		}
	}
}

// conflicts expects a write at one revision to be refused, since there is another.
func conflicts(t testing.TB, what string, err error, at, found store.Revision, exists bool) {
	t.Helper()
	refused(t, what, err, store.ErrConflict)
	var e *store.ConflictError
	if !errors.As(err, &e) || e.Key == "" || e.At != at || e.Found != found || e.Exists != exists {
		t.Errorf("%s = %#v; want revision %d (there: %t), not %d", what, err, found, exists, at)
	}
}

func testState(t *testing.T, w *world) {
	a, b, as := w.open(), w.open(), of(1, 1)
	claim(t, a, as)
	if at := hasNot(t, b, as.Shard, "key"); at != 0 {
		t.Errorf("a key that never was has revision %d; want 0", at)
	}
	first := put(t, a, as, "key", 0, "one")
	if at := has(t, b, as, "key", "one"); at != first {
		t.Errorf("Get after Put gives revision %d; want %d", at, first)
	}
	second := put(t, b, as, "key", first, "two")
	_, err := a.Put(wait(t), as, "key", first, []byte("three"))
	conflicts(t, "Put at an old revision", err, first, second, true)
	_, err = a.Put(wait(t), as, "key", 0, []byte("three"))
	conflicts(t, "Put of what is there as if it were not", err, 0, second, true)
	_, err = a.Put(wait(t), as, "key", second+1, []byte("three"))
	conflicts(t, "Put at a revision that is not yet", err, second+1, second, true)
	_, err = a.Delete(wait(t), as, "key", first)
	conflicts(t, "Delete at an old revision", err, first, second, true)
	has(t, a, as, "key", "two")

	gone := remove(t, a, as, "key", second)
	if at := hasNot(t, b, as.Shard, "key"); at != gone {
		t.Errorf("Get after Delete gives revision %d; want %d", at, gone)
	}
	if at := hasNot(t, b, as.Shard, "other"); at != gone {
		t.Errorf("another key that is not there has revision %d; want %d", at, gone)
	}
	_, err = a.Put(wait(t), as, "key", second, []byte("four"))
	conflicts(t, "Put at a revision that was deleted", err, second, gone, false)
	at := put(t, a, as, "key", gone, "four")
	if at <= second {
		t.Errorf("a key that was deleted is back with revision %d after %d", at, second)
	}
	has(t, b, as, "key", "four")

	put(t, a, as, "young", gone, "")
	rises := remove(t, a, as, "young", has(t, a, as, "young", ""))
	old := put(t, a, as, "old", rises, "")
	for range 3 {
		at = put(t, a, as, "key", at, "five")
	}
	rises = remove(t, a, as, "key", at)
	if again := remove(t, a, as, "old", old); again <= rises {
		t.Errorf("when an older key is deleted, keys that are not there go from revision %d to %d; want a higher one", rises, again)
	}
	at = hasNot(t, b, as.Shard, "key")

	for _, value := range []string{"", "\x00\xff", strings.Repeat("x", store.MaxValue)} {
		at = put(t, a, as, "key", at, value)
		has(t, b, as, "key", value)
	}
}

// testValuesAreCopied: what the caller does with a slice later changes nothing.
func testValuesAreCopied(t *testing.T, w *world) {
	a, as := w.open(), of(1, 1)
	value := []byte("one")
	if _, err := a.Put(wait(t), as, "key", 0, value); err != nil {
		t.Fatal(err)
	}
	clear(value)
	has(t, a, as, "key", "one")
	e, err := a.Get(wait(t), as.Shard, "key")
	if err != nil {
		t.Fatal(err)
	}
	clear(e.Value)
	has(t, a, as, "key", "one")
	page, err := a.List(wait(t), as.Shard, "", 1)
	if err != nil || len(page) != 1 {
		t.Fatalf("List = %+v, %v; want one entry", page, err)
	}
	clear(page[0].Value)
	has(t, a, as, "key", "one")
}

// testShards: what names a shard tells it from all others, in data and in epochs.
func testShards(t *testing.T, w *world) {
	a := w.open()
	var all []store.Tenure
	for i, s := range []store.Shard{
		{Cluster: "c", Type: "Dad", ID: "7"},
		{Cluster: "d", Type: "Dad", ID: "7"},
		{Cluster: "c", Type: "Mum", ID: "7"},
		{Cluster: "c", Type: "Dad", ID: "8"},
		{Cluster: "c/Dad", Type: "7", ID: "7"},
		{Cluster: "c", Type: "Dad/7", ID: "7"},
		{Cluster: "c", Type: "dad", ID: "7"},
		{Cluster: strings.Repeat("ä", 256), Type: strings.Repeat("t", 512), ID: strings.Repeat("7", 512)},
	} {
		all = append(all, store.Tenure{Shard: s, Epoch: store.Epoch{Term: uint64(100 - i), N: 1}})
	}
	for _, as := range all {
		claim(t, a, as)
		put(t, a, as, "key", 0, as.Shard.String())
	}
	for _, as := range all {
		has(t, a, as, "key", as.Shard.String())
	}
}

// testClaims: the highest epoch that was seen is the shard's.
func testClaims(t *testing.T, w *world) {
	a, b := w.open(), w.open()
	tenures := []store.Tenure{of(0, 1), of(1, 1), of(1, 2), of(2, 1), of(10, 0), of(1<<62-1, 1<<63-1)}
	for i, now := range tenures {
		claim(t, a, now)
		claim(t, b, now) // again
		for _, old := range tenures[:i] {
			stale(t, "Claim", b.Claim(wait(t), old), old, now)
			_, err := b.Put(wait(t), old, "key", 0, []byte("old"))
			stale(t, "Put", err, old, now)
			_, err = b.Delete(wait(t), old, "key", 0)
			stale(t, "Delete", err, old, now)
		}
		hasNot(t, a, now.Shard, "key")
	}

	fresh := func(term uint64) store.Tenure {
		as := of(term, 1)
		as.Shard.ID = "8"
		return as
	}
	first := put(t, a, fresh(1), "key", 0, "unclaimed")
	second := put(t, b, fresh(2), "key", first, "by the next one")
	_, err := a.Put(wait(t), fresh(1), "key", second, []byte("old"))
	stale(t, "Put after one of a higher epoch that did not claim", err, fresh(1), fresh(2))
	_, err = b.Put(wait(t), fresh(3), "key", first, []byte("refused"))
	conflicts(t, "Put of a higher epoch", err, first, second, true)
	put(t, a, fresh(2), "key", second, "a refusal claims nothing")
}

// testPausedWriter is what a process must not be able to do that was stopped while
// it owned a shard, and wakes when another one owns it: also with what it had
// sent before, and under its last breath.
func testPausedWriter(t *testing.T, w *world) {
	paused, next := NewFaulty(w.open()), w.open()
	before, after := of(3, 17), of(4, 1)
	claim(t, paused, before)
	at := put(t, paused, before, "joke", 0, "one")
	paused.Set(Delay)
	ctx, cancel := context.WithTimeout(t.Context(), ttl)
	defer cancel()
	if _, err := paused.Put(ctx, before, "joke", at, []byte("sent before the pause")); !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("Put that is delayed = %v; want %v", err, store.ErrUnknown)
	}
	w.pass(3 * ttl)

	claim(t, next, after)
	if got := has(t, next, before, "joke", "one"); got != at { // the replay
		t.Errorf("the next owner reads revision %d; want %d", got, at)
	}
	paused.Set(None)
	if n := paused.Deliver(wait(t)); n != 1 {
		t.Fatalf("%d writes were delayed; want 1", n)
	}
	has(t, next, before, "joke", "one") // so what was replayed is the truth
	_, err := paused.Put(wait(t), before, "joke", at, []byte("of the woken one"))
	stale(t, "the first Put of the woken one", err, before, after)
	_, err = paused.Delete(wait(t), before, "joke", at)
	stale(t, "the first Delete of the woken one", err, before, after)
	stale(t, "Claim of the woken one", paused.Claim(wait(t), before), before, after)
	put(t, next, after, "joke", at, "two")
	_, err = paused.Put(wait(t), before, "joke", at, []byte("two"))
	stale(t, "Put of the same by the woken one", err, before, after)
	has(t, next, after, "joke", "two")
}

// testStateIsIdempotent: what was done unheard may be repeated, and is done once.
func testStateIsIdempotent(t *testing.T, w *world) {
	a, as := NewFaulty(w.open()), of(1, 1)
	unheard := func(what string, call func() error) {
		t.Helper()
		for _, fault := range []Fault{LoseRequest, LoseAnswer, LoseAnswer, None, None} {
			a.Set(fault)
			if err := call(); fault == None && err != nil || fault != None && !errors.Is(err, store.ErrUnknown) {
				t.Fatalf("%s under fault %d = %v", what, fault, err)
			}
		}
	}
	unheard("Claim", func() error { return a.Claim(wait(t), as) })
	var first, second, gone store.Revision
	unheard("Put", func() (err error) { first, err = a.Put(wait(t), as, "key", 0, []byte("one")); return err })
	unheard("Put", func() (err error) { second, err = a.Put(wait(t), as, "key", first, []byte("two")); return err })
	if got := has(t, a, as, "key", "two"); got != second {
		t.Errorf("the key has revision %d; want %d as the last repetition says", got, second)
	}
	_, err := a.Put(wait(t), as, "key", first, []byte("three"))
	conflicts(t, "Put of something else at the same revision", err, first, second, true)
	_, err = a.Put(wait(t), of(1, 2), "key", first, []byte("two"))
	conflicts(t, "Put of the same by the next owner", err, first, second, true)
	unheard("Delete", func() (err error) { gone, err = a.Delete(wait(t), as, "key", second); return err })
	if got := hasNot(t, a, as.Shard, "key"); got != gone {
		t.Errorf("the key has revision %d; want %d as the last repetition says", got, gone)
	}
}

// testLateWrites: whatever is carried out after its repetition, and after what the
// owner has done since, changes nothing.
func testLateWrites(t *testing.T, w *world) {
	late, a, as := NewFaulty(w.open()), w.open(), of(1, 1)
	delayed := func(write func(context.Context) error) {
		t.Helper()
		late.Set(Delay)
		ctx, cancel := context.WithTimeout(t.Context(), ttl/10)
		defer cancel()
		if err := write(ctx); !errors.Is(err, store.ErrUnknown) {
			t.Fatalf("a write that is delayed = %v; want %v", err, store.ErrUnknown)
		}
	}
	puts := func(at store.Revision, value string) {
		t.Helper()
		delayed(func(ctx context.Context) error {
			_, err := late.Put(ctx, as, "key", at, []byte(value))
			return err
		})
	}
	puts(0, "one")
	first := put(t, a, as, "key", 0, "one")
	puts(first, "two")
	delayed(func(ctx context.Context) error { _, err := late.Delete(ctx, as, "key", first); return err })
	second := put(t, a, as, "key", first, "two")
	late.Deliver(wait(t))
	has(t, a, as, "key", "two")

	puts(second, "three")
	delayed(func(ctx context.Context) error { _, err := late.Delete(ctx, as, "key", second); return err })
	gone := remove(t, a, as, "key", second)
	puts(0, "one")
	puts(gone, "four")
	late.Deliver(wait(t)) // the last of them was never repeated
	fourth := has(t, a, as, "key", "four")
	puts(gone, "four")
	remove(t, a, as, "key", fourth)
	late.Deliver(wait(t))
	hasNot(t, a, as.Shard, "key")
}

// testStaleReads: who read from a copy that is behind cannot write.
func testStaleReads(t *testing.T, w *world) {
	behind, a, as := NewFaulty(w.open()), w.open(), of(1, 1)
	at := put(t, a, as, "key", 0, "one")
	has(t, behind, as, "key", "one")
	if page, err := behind.List(wait(t), as.Shard, "", 10); err != nil || len(page) != 1 {
		t.Fatalf("List = %+v, %v; want one entry", page, err)
	}
	now := put(t, a, as, "key", at, "two")
	behind.Set(Stale)
	read := has(t, behind, as, "key", "one")
	if page, err := behind.List(wait(t), as.Shard, "", 10); err != nil || len(page) != 1 || page[0].Revision != read {
		t.Fatalf("List from a copy = %+v, %v; want the entry at revision %d", page, err, read)
	}
	_, err := behind.Put(wait(t), as, "key", read, []byte("three"))
	conflicts(t, "Put after a stale read", err, read, now, true)
	_, err = behind.Delete(wait(t), as, "key", read)
	conflicts(t, "Delete after a stale read", err, read, now, true)
	has(t, a, as, "key", "two")
}

// testStateThroughARestart: what was confirmed is there when the database is back,
// and fenced as before.
func testStateThroughARestart(t *testing.T, w *world) {
	if w.Restart == nil {
		return
	}
	a, before, after := w.open(), of(1, 1), of(1, 2)
	claim(t, a, before)
	at := put(t, a, before, "key", 0, "one")
	claim(t, a, after)
	w.Restart(t)
	again(t, func(ctx context.Context) error {
		_, err := a.Get(ctx, before.Shard, "key")
		return err
	})
	has(t, a, before, "key", "one")
	_, err := a.Put(wait(t), before, "key", at, []byte("old"))
	stale(t, "Put of an older epoch after the restart", err, before, after)
	put(t, a, after, "key", at, "two")
}

func testStateBadArguments(t *testing.T, w *world) {
	a, as := w.open(), of(1, 1)
	put := func(as store.Tenure, key string, value []byte) error {
		_, err := a.Put(wait(t), as, key, 0, value)
		return err
	}
	long := strings.Repeat("k", store.MaxKey)
	if err := put(as, long, nil); err != nil {
		t.Errorf("Put under a key of %d bytes = %v", len(long), err)
	}
	for what, err := range map[string]error{
		"claim for nobody":       a.Claim(wait(t), of(0, 0)),
		"claim a term too high":  a.Claim(wait(t), of(1<<62, 0)),
		"claim a count too high": a.Claim(wait(t), of(1, 1<<63)),
		"claim a shard of none":  a.Claim(wait(t), store.Tenure{Epoch: as.Epoch}),
		"put for nobody":         put(of(0, 0), "key", nil),
		"put without a key":      put(as, "", nil),
		"put under a longer key": put(as, long+"k", nil),
		"put what is not UTF-8":  put(as, "\xff", nil),
		"put a zero byte":        put(as, "k\x00", nil),
		"put too much":           put(as, "key", bytes.Repeat([]byte{1}, store.MaxValue+1)),
		"delete without a key":   func() error { _, err := a.Delete(wait(t), as, "", 1); return err }(),
		"get without a key":      func() error { _, err := a.Get(wait(t), as.Shard, ""); return err }(),
		"get from no shard":      func() error { _, err := a.Get(wait(t), store.Shard{}, "key"); return err }(),
		"list nothing":           func() error { _, err := a.List(wait(t), as.Shard, "", 0); return err }(),
		"list too much":          func() error { _, err := a.List(wait(t), as.Shard, "", store.MaxPage+1); return err }(),
		"list after no UTF-8":    func() error { _, err := a.List(wait(t), as.Shard, "\xff", 1); return err }(),
	} {
		refused(t, what, err, store.ErrBadArgument)
	}
	keys := 0
	for e, err := range store.Entries(wait(t), a, as.Shard) {
		if keys++; err != nil || e.Key != long {
			t.Errorf("what was refused is there: %.40q, %v", e.Key, err)
		}
	}
	if keys != 1 {
		t.Errorf("there are %d entries; want the one that was not refused", keys)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.Put(ctx, as, "key", 0, nil)
	if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.Canceled) || store.Refused(err) {
		t.Errorf("Put when its context has ended = %v; want an unknown outcome because of %v", err, context.Canceled)
	}
}
