package dad

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestMemoryIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name  string
		text  string
		heard int
		lines int
	}{
		{"few", "hi", 10, 10},
		{"many", "hi", MaxLines + 10, MaxLines},
		{"long", strings.Repeat("x", MaxMemory/4), 10, 3},
		{"larger than all memory", strings.Repeat("x", MaxMemory), 10, 0},
	} {
		var m mind
		for i := range tt.heard {
			m.hear(Said{ID: fmt.Sprint(i), Text: tt.text})
		}
		if got := m.memory().Lines; len(got) != tt.lines {
			t.Errorf("%s: he remembers %d lines of %d, want %d", tt.name, len(got), tt.heard, tt.lines)
		}
		size := 0
		for _, l := range m.lines {
			size += l.bytes()
		}
		if size != m.size {
			t.Errorf("%s: he counts %d bytes, want %d", tt.name, m.size, size)
		}
		if last := m.lines; tt.lines > 0 && last[len(last)-1].ID != fmt.Sprint(tt.heard-1) {
			t.Errorf("%s: he forgot the newest: last is %s", tt.name, last[len(last)-1].ID)
		}
	}
}

func TestKnownIdsAreBounded(t *testing.T) {
	var r recent
	for i := range maxKnown + 1 {
		if !r.add(fmt.Sprint(i)) {
			t.Fatalf("add(%d) = false for a new id", i)
		}
	}
	// Asked in this order: the last one is forgotten, so adding it forgets another.
	for _, tt := range []struct {
		id   int
		want bool
	}{{1, false}, {maxKnown, false}, {0, true}} {
		if got := r.add(fmt.Sprint(tt.id)); got != tt.want {
			t.Errorf("add(%d) = %v, want %v", tt.id, got, tt.want)
		}
	}
	if len(r.set) != maxKnown || len(r.order) != maxKnown {
		t.Errorf("the set holds %d ids, the ring %d; want %d", len(r.set), len(r.order), maxKnown)
	}
}

func TestMemoryIsACopy(t *testing.T) {
	var m mind
	m.hear(Said{ID: "a"})
	got := m.memory()
	m.lines[0].ID = "changed"
	if got.Lines[0].ID != "a" {
		t.Error("a memory that was given away changed")
	}
}

func TestPunsAreFixedAndNeverRepeat(t *testing.T) {
	if first := Pun(0); !strings.Contains(first, "UDP") {
		t.Errorf("Pun(0) = %q, want the one about UDP", first)
	}
	seen := make(map[string]int)
	for n := range 1000 {
		p := Pun(n)
		if m, ok := seen[p]; ok {
			t.Fatalf("Pun(%d) = Pun(%d) = %q", n, m, p)
		}
		seen[p] = n
	}
}

func TestTheProtocolTravels(t *testing.T) {
	said := Said{ID: "a", From: "Ann", Text: "hi", Via: "node-1", At: time.Unix(1, 123456789).UTC()}
	got, err := Protocol.Roundtrip(said)
	if err != nil || got != Msg(said) {
		t.Errorf("Roundtrip(%+v) = %+v, %v", said, got, err)
	}
	if got, err := Protocol.Roundtrip(Recall{}); err != nil || got != Msg(Recall{}) {
		t.Errorf("Roundtrip(Recall{}) = %+v, %v", got, err)
	}
	for _, inner := range []Msg{quiet{}, thought{}} {
		if err := Protocol.Check(inner); err == nil {
			t.Errorf("Check(%T) = nil: it must not travel", inner)
		}
	}
}
