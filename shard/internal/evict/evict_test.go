package evict

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// A set is what uses a policy: items by name, with counters of their use.
type set struct {
	policy  Policy[string]
	entries map[string]*Entry[string]
	last    map[string]int64
	more    map[string]uint32
	clock   int64
}

type maker = func(look func(string) Use) Policy[string]

var policies = map[string]maker{"LRU": NewLRU[string], "LFU": NewLFU[string], "S3FIFO": NewS3FIFO[string]}

func newSet(with maker) *set {
	s := &set{entries: map[string]*Entry[string]{}, last: map[string]int64{}, more: map[string]uint32{}}
	s.policy = with(s.look)
	return s
}

func (s *set) look(name string) Use {
	u := Use{Last: s.last[name], More: s.more[name]}
	s.more[name] = 0
	return u
}

// use uses an item, which comes to life with its first use, and tells whether it
// was alive.
func (s *set) use(name string) (alive bool) {
	s.clock++
	s.last[name] = s.clock
	if s.entries[name] != nil {
		s.more[name] = min(s.more[name]+1, 15)
		return true
	}
	e := &Entry[string]{Value: name, Hash: hashOf(name)}
	s.entries[name] = e
	s.policy.Add(e)
	return false
}

func hashOf(name string) (h uint32) {
	for _, b := range []byte(name) {
		h = h*0x01000193 ^ uint32(b)
	}
	return h * 0x9E3779B1
}

// goes lets one go and names it.
func (s *set) goes() string {
	e, ok := s.policy.Next()
	if !ok {
		return "nobody"
	}
	delete(s.entries, e.Value)
	return e.Value
}

// busy has one chosen that cannot go, and names it.
func (s *set) busy() string {
	e, ok := s.policy.Next()
	if !ok {
		return "nobody"
	}
	s.policy.Add(e)
	return e.Value
}

// A step uses an item: "a"; ends one: "-a"; or lets one go and expects: "=a", or
// "!a" if it is in use and stays.
func TestWhoGoes(t *testing.T) {
	for _, tt := range []struct{ policy, steps string }{
		{"LRU", "a b c =a =b =c =nobody"},
		{"LRU", "a b c a =b =c =a"},
		{"LRU", "a b c b a -c =b =a =nobody"},
		{"LRU", "a b a b c =a d =b =c =d"},
		{"LRU", "a b c !a =b =c =a"}, // in use, and therefore used last
		{"LRU", "a b c !a !b b d !c !a !b =d"},
		{"LRU", "a b !a !b !a b =a =b"},
		{"LFU", "a a a b b c =c =b =a =nobody"},
		{"LFU", "a b c a b =c =a =b"},
		{"LFU", "a a a b =b b =b b =a"}, // age makes up for what b was not used
		{"LFU", "a a b -a =b =nobody"},
		{"S3FIFO", "a b c =a =b =c =nobody"},
		{"S3FIFO", "a b c a a a =b =c =a"}, // used again twice: to the main queue
		{"S3FIFO", "a b c a =a =b =c"},     // once does not prove it
		{"S3FIFO", "a b c =a a =b =c =a"},  // who comes again is remembered
		{"S3FIFO", "a b -a -b =nobody"},
		{"S3FIFO", "a a a b =b c =c d d d =a"}, // one further round was used up
	} {
		s := newSet(policies[tt.policy])
		for n, step := range strings.Fields(tt.steps) {
			switch step[0] {
			case '=':
				if got := s.goes(); got != step[1:] {
					t.Fatalf("%s, %q, step %d: %s goes, want %s", tt.policy, tt.steps, n+1, got, step[1:])
				}
			case '!':
				if got := s.busy(); got != step[1:] {
					t.Fatalf("%s, %q, step %d: %s is chosen, want %s", tt.policy, tt.steps, n+1, got, step[1:])
				}
			case '-':
				s.policy.Remove(s.entries[step[1:]])
				delete(s.entries, step[1:])
			default:
				s.use(step)
			}
		}
	}
}

// Whatever is done, entries are in as often as they were added, and each is given
// out once.
func TestPoliciesKeepCount(t *testing.T) {
	for policy, with := range policies {
		rnd := rand.New(rand.NewPCG(7, 7))
		s := newSet(with)
		for step := range 50_000 {
			name := fmt.Sprint(rnd.IntN(500))
			switch rnd.IntN(6) {
			case 0:
				if e := s.entries[name]; e != nil {
					s.policy.Remove(e)
					s.policy.Remove(e) // once more does nothing
					delete(s.entries, name)
				}
			case 1:
				alive := len(s.entries)
				if gone := s.goes(); (gone == "nobody") != (alive == 0) || len(s.entries) != max(0, alive-1) {
					t.Fatalf("%s, step %d: %s goes of %d, which leaves %d", policy, step, gone, alive, len(s.entries))
				}
			default:
				s.use(name)
			}
			if s.policy.Len() != len(s.entries) {
				t.Fatalf("%s, step %d: Len is %d, want %d", policy, step, s.policy.Len(), len(s.entries))
			}
		}
	}
}

// A choice is quick even when everything was used since the last.
func TestLooksAreBounded(t *testing.T) {
	for policy, with := range policies {
		looks := 0
		s := newSet(func(look func(string) Use) Policy[string] {
			return with(func(name string) Use { looks++; return look(name) })
		})
		for range 3 {
			for i := range 1000 {
				s.use(fmt.Sprint(i))
			}
		}
		looks = 0
		if s.goes(); looks > maxLooks {
			t.Errorf("%s: %d looks for one choice, want at most %d", policy, looks, maxLooks)
		}
	}
}

// hits is the share of uses that find their item alive when size may live.
func hits(p maker, size int, trace func(yield func(string) bool)) float64 {
	s := newSet(p)
	uses, found := 0, 0
	for name := range trace {
		uses++
		if s.use(name) {
			found++
		}
		for s.policy.Len() > size {
			s.goes()
		}
	}
	return float64(found) / float64(uses)
}

// zipf draws from 20,000 names; with scans, every third thousand of uses is of
// a thousand names that are never used again.
func zipf(scans bool) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		rnd := rand.New(rand.NewPCG(1, 1))
		z := rand.NewZipf(rnd, 1.1, 4, 20_000)
		for i := range 90_000 {
			name := strconv.FormatUint(z.Uint64(), 10)
			if scans && i/1000%3 == 2 {
				name = "scan" + strconv.Itoa(i)
			}
			if !yield(name) {
				return
			}
		}
	}
}

func TestHitRates(t *testing.T) {
	plain, scanned := zipf(false), zipf(true)
	for _, tt := range []struct {
		better, worse string
		trace         string
		of            func(yield func(string) bool)
		by            float64
	}{
		{"S3FIFO", "LRU", "Zipf", plain, 0.01},
		{"LFU", "LRU", "Zipf", plain, 0.01},
		{"S3FIFO", "LRU", "Zipf with scans", scanned, 0.02},
		{"LFU", "LRU", "Zipf with scans", scanned, 0.02},
	} {
		better, worse := hits(policies[tt.better], 1000, tt.of), hits(policies[tt.worse], 1000, tt.of)
		t.Logf("%s: %s %.3f, %s %.3f", tt.trace, tt.better, better, tt.worse, worse)
		if better < worse+tt.by {
			t.Errorf("%s: %s hits %.3f and %s %.3f, want a lead of %.2f", tt.trace, tt.better, better, tt.worse, worse, tt.by)
		}
	}
}

func BenchmarkChoice(b *testing.B) {
	for name, with := range map[string]func(func(int) Use) Policy[int]{"LRU": NewLRU[int], "LFU": NewLFU[int], "S3FIFO": NewS3FIFO[int]} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var entries [100_000]Entry[int]
			var uses [len(entries)]Use
			policy := with(func(i int) Use {
				u := uses[i]
				uses[i].More = 0
				return u
			})
			for i := range entries {
				entries[i].Value, entries[i].Hash = i, uint32(i)*0x9E3779B1
				policy.Add(&entries[i])
			}
			rnd := rand.New(rand.NewPCG(1, 1))
			now := int64(0)
			for b.Loop() {
				now++
				u := &uses[rnd.IntN(len(uses))]
				u.Last, u.More = now, min(u.More+1, 15)
				e, _ := policy.Next()
				policy.Add(e)
			}
		})
	}
}
