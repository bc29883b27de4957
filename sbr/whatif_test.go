package sbr

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

var update = flag.Bool("update", false, "write the golden files")

// cluster makes members that are Up but for those with another letter: j joins, l
// leaves; a capital one has the role "db". The last is the oldest.
func cluster(letters string) []member.Member {
	var all []member.Member
	for i, c := range letters {
		m := member.Member{ID: nodeID(i % 26), Status: member.Up, UpNumber: len(letters) - i}
		m.Port = i + 1
		switch c | 0x20 {
		case 'j':
			m.Status, m.UpNumber = member.Joining, member.NeverUp
		case 'l':
			m.Status = member.Leaving
		}
		if c < 'a' {
			m.Roles = []string{"db"}
		}
		all = append(all, m)
	}
	return all
}

func TestWhatIf(t *testing.T) {
	var b strings.Builder
	for _, tt := range []struct {
		members  string
		strategy Strategy
	}{
		{"u", KeepMajority{}},
		{"uu", KeepMajority{}},
		{"uuuuu", KeepMajority{}},
		{"uuuuuu", KeepMajority{}},
		{"uuUUU", KeepMajority{Role: "db"}},
		{"uuuuj", KeepMajority{}},
		{"luuuu", KeepMajority{}},
		{"uuuuu", StaticQuorum{Size: 3}},
		{"uuuuuu", StaticQuorum{Size: 3}},
		{"uuuuu", KeepOldest{}},
		{"uuuu", KeepOldest{DownIfAlone: true}},
		{"uuuu", LeaseMajority{}},
		{"uuuu", DownAll{}},
		{strings.Repeat("u", 100), KeepMajority{}},
		{strings.Repeat("ujl", 30), StaticQuorum{Size: 40}},
	} {
		members := tt.members
		if len(members) > 10 {
			members = fmt.Sprintf("%s... (%d)", members[:6], len(members))
		}
		fmt.Fprintf(&b, "--- %s\n%s\n", members, WhatIf(tt.strategy, cluster(tt.members)))
	}
	golden(t, "testdata/whatif.txt", b.String())
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got\n%s\nwant\n%s", file, got, want)
	}
}

// What is told about a split is what each side would decide.
func TestWhatIfTellsWhatIsDecided(t *testing.T) {
	for _, letters := range []string{"uuuu", "uuuuu", "luuuj", "jlulu"} {
		for _, s := range strategies(len(letters)) {
			members := cluster(letters)
			o := WhatIf(s.Strategy, members)
			for side := 1; side < 1<<len(members)-1; side++ {
				checkSplit(t, o, s.Strategy, members, side)
			}
		}
	}
}

// checkSplit looks for a row of that size that tells the fate of a split.
func checkSplit(t *testing.T, o Outlook, s Strategy, members []member.Member, side int) {
	t.Helper()
	var here, there []member.ID
	countHere, countThere := 0, 0
	for i, m := range members {
		counted := electorate{}.has(m)
		if side>>i&1 == 1 {
			here = append(here, m.ID)
			countHere += one(counted)
		} else {
			there = append(there, m.ID)
			countThere += one(counted)
		}
	}
	if countHere == 0 || countThere == 0 || countHere > countThere {
		return
	}
	wary := func(self, other []member.ID) Action {
		return Decide(s, Situation{Self: self[0], Members: members, Unreachable: other, SeenBy: self, Wary: true}).Action
	}
	mine, others := wary(here, there), wary(there, here)
	for _, row := range o.Splits {
		if countHere < row.Least || countHere > row.Most {
			continue
		}
		small, large := mine == DownUnreachable, others == DownUnreachable
		fits := map[Fate]bool{
			Nobody: !small && !large, SmallerSide: small && !large, LargerSide: large && !small, BothSides: small && large,
			ByLease: mine == AcquireLeaseThenDownUnreachable, SideOf: small == contains(here, row.Of) && large == contains(there, row.Of),
		}
		if fits[row.Fate] && (row.Fate == ByLease || mine != AcquireLeaseThenDownUnreachable) || countHere == countThere && (small || large) && row.Fate <= SmallerSide && row.Fate != Nobody {
			return
		}
	}
	t.Errorf("%s: %v | %v decide %s | %s, which is not in\n%s", s.Name(), here, there, mine, others, o)
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func BenchmarkWhatIf(b *testing.B) {
	members := cluster(strings.Repeat("u", 100))
	b.ReportAllocs()
	for b.Loop() {
		WhatIf(KeepMajority{}, members)
	}
}
