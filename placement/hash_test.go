package placement

import (
	"strings"
	"testing"
	"unicode/utf16"
)

func TestJavaHashKnown(t *testing.T) {
	for id, want := range map[string]int{"#engineering": 320, "#random": 878} {
		if got := JavaHash(id, 1000); got != want {
			t.Errorf("JavaHash(%q, 1000) = %d, want %d", id, got, want)
		}
	}
}

func TestHashesDoNotAllocate(t *testing.T) {
	for _, id := range []string{"", "account-1234567890", "Käse-🧀-" + strings.Repeat("x", 50)} {
		for name, hash := range map[string]ShardFunc{"JavaHash": JavaHash, "Murmur2": Murmur2} {
			if n := testing.AllocsPerRun(100, func() { _ = hash(id, 1000) }); n > 0 {
				t.Errorf("%s(%q) allocates %v times", name, id, n)
			}
		}
	}
}

func FuzzStringHash(f *testing.F) {
	for _, s := range []string{"", "a", "abcd", "abcde", "abc\x80def", "Käse", "🧀🧀", "polygenelubricants", "a\xff\xf0\x9f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want int32
		for _, unit := range utf16.Encode([]rune(s)) {
			want = 31*want + int32(unit)
		}
		if got := StringHash(s); got != want {
			t.Errorf("StringHash(%q) = %d, want %d", s, got, want)
		}
		if n := Slice(s); n < 0 || n >= Slices {
			t.Errorf("Slice(%q) = %d", s, n)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1", "1|2|3", "|", "1.2.3-M1", "1.0.10+3-1234abcd", "2020-09-07", "...", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDaemonID(s, 8); err == nil {
			if again, err := ParseDaemonID(d.String(), d.Total); err != nil || again != d {
				t.Errorf("daemon id %q: %+v came back as %+v, %v", s, d, again, err)
			}
		}
		if v, err := ParseVersion(s); err == nil && (v.Compare(v) != 0 || v.String() != s) {
			t.Errorf("version %q differs from itself", s)
		}
	})
}

func BenchmarkJavaHash(b *testing.B) {
	for name, id := range map[string]string{
		"short":   "#engineering",
		"uuid":    "01890a5d-ac96-774b-bcce-b302099a8057",
		"unicode": "Käsekuchen-für-alle",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				JavaHash(id, 1000)
			}
		})
	}
}
