package store_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/troupe-go/troupe/store"
)

func TestKey(t *testing.T) {
	const limit = 80
	long := strings.Repeat("ä", 100)
	for _, name := range []string{"", "short", strings.Repeat("x", limit-1), strings.Repeat("ä", (limit-1)/2)} {
		if got := store.Key(name, limit); got != name {
			t.Errorf("Key(%q) = %q; want it unchanged", name, got)
		}
	}
	seen := map[string]string{}
	for _, name := range []string{long, long + "1", long + "2", "x" + long, strings.Repeat("x", limit), store.Key(long, limit)} {
		key := store.Key(name, limit)
		if len(key) != limit || !utf8.ValidString(key) {
			t.Errorf("Key(%q) = %q of %d bytes; want %d bytes of UTF-8", name, key, len(key), limit)
		}
		if other, taken := seen[key]; taken {
			t.Errorf("Key(%q) = Key(%q) = %q", name, other, key)
		}
		seen[key] = name
	}
	if want := strings.Repeat("ä", 5); !strings.HasPrefix(store.Key(long, limit), want) {
		t.Errorf("Key(%q) = %q; want it to begin as the name does", long, store.Key(long, limit))
	}
}

func FuzzKey(f *testing.F) {
	f.Add(strings.Repeat("a", 300), strings.Repeat("a", 299)+"b")
	f.Add("short", "\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		const limit = 65
		ka, kb := store.Key(a, limit), store.Key(b, limit)
		if len(ka) > limit || utf8.ValidString(a) && !utf8.ValidString(ka) {
			t.Errorf("Key(%q) = %q", a, ka)
		}
		if (a == b) != (ka == kb) {
			t.Errorf("Key(%q) = %q and Key(%q) = %q", a, ka, b, kb)
		}
	})
}
