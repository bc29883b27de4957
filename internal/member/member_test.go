package member

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMEM14HostNameForms(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		err      string // part of it
	}{
		{in: "NODE1:2552", want: "node1:2552"},
		{in: "node_1:2552", want: "node_1:2552"},
		{in: "node1.:2552", want: "node1:2552"},
		{in: "Node1.svc.Cluster.local.:1", want: "node1.svc.cluster.local:1"},
		{in: "127.0.0.1:0", want: "127.0.0.1:0"},
		{in: "[::1]:2552", want: "[::1]:2552"},
		{in: "[0:0:0:0:0:0:0:1]:2552", want: "[::1]:2552"},
		{in: "[FE80::1%eth0]:2552", want: "[fe80::1%eth0]:2552"},
		{in: "[::ffff:10.0.0.1]:2552", want: "10.0.0.1:2552"},
		{in: "node1", err: "write host:port"},
		{in: "", err: "write host:port"},
		{in: "::1:2552", err: "in brackets: [::1]:2552"},
		{in: "[::1:2552", err: "brackets"},
		{in: "node1:", err: "port"},
		{in: "node1:http", err: "port"},
		{in: "node1:65536", err: "port"},
		{in: "node1:-1", err: "port"},
		{in: ":2552", err: "empty"},
		{in: ".:2552", err: "empty"},
		{in: "[..]:2552", err: "empty part"},
		{in: ".a:2552", err: "empty part"},
		{in: "a..b:2552", err: "empty part"},
		{in: "node 1:2552", err: `contains ' '`},
		{in: "node1/x:2552", err: `contains '/'`},
	} {
		got, err := ParseAddress(tt.in)
		switch {
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("ParseAddress(%q): error %v, want one with %q", tt.in, err, tt.err)
		case tt.err == "" && err != nil:
			t.Errorf("ParseAddress(%q): %v", tt.in, err)
		case tt.err == "" && got.String() != tt.want:
			t.Errorf("ParseAddress(%q) = %v, want %v", tt.in, got, tt.want)
		}
	}
}

// FuzzParseAddress: what is accepted is canonical, so that one place has one
// address.
func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"node1:1", "[::1]:2552", "NODE.:7", "[::ffff:1.2.3.4]:5", "[fe80::1%a]:0", "a:b:c", "[..]:0", "a..:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddress(s)
		if err != nil {
			return
		}
		again, err := ParseAddress(a.String())
		if err != nil || again != a {
			t.Errorf("%q is %+v, which reads as %+v, %v", s, a, again, err)
		}
	})
}

func randomID(r *rand.Rand) ID {
	hosts := []string{"a", "a.b", "b", "10.0.0.1", "10.0.0.10", "10.0.0.2", "::1"}
	return ID{
		Address: Address{Host: hosts[r.IntN(len(hosts))], Port: []int{1, 9, 10, 2552, 25520}[r.IntN(5)]},
		UID:     []int64{-9e18, -1, 1, 2, 9e18}[r.IntN(5)],
	}
}

func TestREM13AddressOrderingIsInconsistent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 13))
	for range 10_000 {
		a, b, c := randomID(r), randomID(r), randomID(r)
		if ab, ba := a.Compare(b), b.Compare(a); ab != -ba || (ab == 0) != (a == b) {
			t.Fatalf("%v to %v is %d, the other way %d", a, b, ab, ba)
		}
		if a.Compare(b) <= 0 && b.Compare(c) <= 0 && a.Compare(c) > 0 {
			t.Fatalf("%v ≤ %v ≤ %v, but not the first and the last", a, b, c)
		}
		if x := a.Address.Compare(b.Address); x != 0 && cmp.Compare(x, 0) != cmp.Compare(a.Compare(b), 0) {
			t.Fatalf("%v and %v are ordered otherwise than their addresses", a, b)
		}
	}
	for range 100 {
		var set []ID
		for range r.IntN(30) {
			set = append(set, randomID(r))
		}
		first := slices.Clone(set)
		slices.SortFunc(first, ID.Compare)
		r.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
		slices.SortFunc(set, ID.Compare)
		if !slices.Equal(first, set) {
			t.Fatalf("one set has two orders:\n%v\n%v", first, set)
		}
	}
}

func TestLaterStartReplaces(t *testing.T) {
	a, b := Address{"a", 1}, Address{"b", 1}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(place Address, after time.Duration, random uint64) ID {
		return ID{place, NewUID(start.Add(after), random)}
	}
	for _, tt := range []struct {
		id, other ID
		want      bool
	}{
		{at(a, time.Millisecond, 0), at(a, 0, 1<<63), true},
		{at(a, 80*365*24*time.Hour, 0), at(a, 0, 1<<63), true},
		{at(a, 0, 1<<63), at(a, time.Millisecond, 0), false},
		{at(a, 0, 1<<63), at(a, 0, 0), true}, // started at once: any order will do
		{at(a, 0, 5), at(a, 0, 5), false},
		{at(b, time.Hour, 0), at(a, 0, 0), false},
	} {
		if got := tt.id.Replaces(tt.other); got != tt.want {
			t.Errorf("%v replaces %v: %v, want %v", tt.id, tt.other, got, tt.want)
		}
		if tt.id.UID <= 0 {
			t.Errorf("%v is not positive", tt.id)
		}
	}
}

func TestView(t *testing.T) {
	id := func(host string) ID { return ID{Address{host, 1}, 7} }
	v := &View{
		Self: id("b"), DataCenter: "x",
		Members: []Member{
			{ID: id("a"), Status: Up, UpNumber: 3, DataCenter: "x", Roles: []string{"dad"}},
			{ID: id("b"), Status: Up, UpNumber: 2, DataCenter: "x"},
			{ID: id("c"), Status: Up, UpNumber: 1, DataCenter: "y"},
			{ID: id("d"), Status: Leaving, UpNumber: 1, DataCenter: "x"},
		},
		Unreachable: []ID{id("a")},
	}
	if m, ok := v.SelfMember(); !ok || m.UpNumber != 2 {
		t.Errorf("self is %+v, %v", m, ok)
	}
	if v.Reachable(id("a")) || !v.Reachable(id("b")) || v.Reachable(id("z")) {
		t.Error("only members that are not listed are reachable")
	}
	for _, tt := range []struct {
		role string
		in   []Status
		want string
	}{
		{"", []Status{Up}, "b"},
		{"", []Status{Up, Leaving}, "d"},
		{"dad", []Status{Up}, "a"},
		{"edge", []Status{Up}, ""},
	} {
		if got, ok := v.Oldest(tt.role, tt.in...); got.Host != tt.want || ok != (tt.want != "") {
			t.Errorf("oldest with role %q in %v is %v, %v; want %q", tt.role, tt.in, got.ID, ok, tt.want)
		}
	}
}

func TestStatusNames(t *testing.T) {
	for s := Joining; s <= ReadyForShutdown; s++ {
		if got, ok := ParseStatus(s.String()); !ok || got != s {
			t.Errorf("%d is %q, which reads as %d, %v", s, s, got, ok)
		}
	}
	for _, name := range []string{"", "Unknown", "up"} {
		if got, ok := ParseStatus(name); ok {
			t.Errorf("%q reads as %v", name, got)
		}
	}
}
