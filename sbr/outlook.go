package sbr

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// sum puts the splits of one size together that end alike, and says what tells
// them from the others: nothing, the place of a member, or how many of some kinds
// are on the smaller side. It asks the kinds in the order that takes the fewest
// rows.
func (w *splitter) sum(row Split, splits []split, kinds []int) []Split {
	if row, ok := w.alike(row, splits); ok {
		return []Split{row}
	}
	var best []Split
	for i, k := range kinds {
		left := slices.Delete(slices.Clone(kinds), i, i+1)
		if rows := w.byNumber(row, splits, k, left); best == nil || len(rows) < len(best) {
			best = rows
		}
	}
	return best
}

// alike is the one row of splits that need no more words.
func (w *splitter) alike(row Split, splits []split) (Split, bool) {
	row.Fate = splits[0].fate()
	tie := row.Least*2 == w.counted
	if !slices.ContainsFunc(splits, func(s split) bool { return s.fate() != row.Fate }) {
		if tie && row.Fate == LargerSide && w.kinds[0].pivot {
			row.Fate, row.Of = SideOf, w.kinds[0].ids[0]
		}
		return row, true
	}
	for i, k := range w.kinds {
		if k.pivot && !slices.ContainsFunc(splits, func(s split) bool { return s.fate() != sideOf(s.here[i]) }) {
			row.Fate, row.Of = SideOf, k.ids[0]
			return row, true
		}
	}
	return row, false
}

// sideOf is the fate by which the side survives that has the one member of a kind.
func sideOf(here int) Fate {
	if here > 0 {
		return SmallerSide
	}
	return LargerSide
}

// byNumber sums the splits up for each number of a kind on the smaller side;
// numbers that follow each other and come to the same share their rows.
func (w *splitter) byNumber(row Split, splits []split, k int, left []int) []Split {
	parts := map[int][]split{}
	for _, s := range splits {
		parts[s.here[k]] = append(parts[s.here[k]], s)
	}
	if len(parts) == 1 && len(left) > 0 {
		return w.sum(row, splits, left) // it tells nothing
	}
	var rows, last []Split
	least, most := 0, 0
	flush := func() {
		for _, r := range last {
			r.Where = join(w.kinds[k].where(least, most), r.Where)
			rows = append(rows, r)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(parts)) {
		sub := w.sum(row, parts[n], left)
		if !slices.Equal(sub, last) {
			flush()
			last, least = sub, n
		}
		most = n
	}
	flush()
	return rows
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + ", " + b
}

func (k kind) where(least, most int) string {
	switch {
	case len(k.ids) == 1 && most == 0:
		return fmt.Sprintf("without %s (%s)", k.ids[0].Address, k.name)
	case len(k.ids) == 1:
		return fmt.Sprintf("with %s (%s)", k.ids[0].Address, k.name)
	default:
		return fmt.Sprintf("with %s of the %d %s", span(least, most), len(k.ids), k.name)
	}
}

func span(least, most int) string {
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d-%d", least, most)
}

// Survivor names who survives, in words.
func (s Split) Survivor() string {
	switch s.Fate {
	case LargerSide:
		return "the larger side"
	case SmallerSide:
		return "the smaller side"
	case SideOf:
		return "the side of " + s.Of.Address.String()
	case ByLease:
		return "the side that gets the lease"
	case BothSides:
		return "BOTH SIDES"
	default:
		return "nobody"
	}
}

// listed bounds the lines of the table.
const listed = 30

// String gives a table for people: a line for each kind of split.
func (o Outlook) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: members that count: %d", o.Strategy, o.Counted)
	if o.Role != "" {
		fmt.Fprintf(&b, ", with the role %q", o.Role)
	}
	if o.Others > 0 {
		fmt.Fprintf(&b, "; others, which go with their side: %d", o.Others)
	}
	if o.Settled > 0 {
		fmt.Fprintf(&b, "; taken as Up or gone, as they are joining or leaving: %d", o.Settled)
	}
	b.WriteByte('\n')
	if o.Counted < 2 {
		b.WriteString("Nothing to split.\n")
		return b.String()
	}
	b.WriteByte('\n')
	rows := [][3]string{{"smaller side", "larger side", "survives"}}
	for _, s := range o.Splits[:min(len(o.Splits), listed)] {
		smaller := span(s.Least, s.Most)
		if s.Where != "" {
			smaller += " " + s.Where
		}
		rows = append(rows, [3]string{smaller, span(o.Counted-s.Most, o.Counted-s.Least), s.Survivor()})
	}
	width := [2]int{}
	for _, r := range rows {
		width[0], width[1] = max(width[0], len(r[0])), max(width[1], len(r[1]))
	}
	for _, r := range rows {
		fmt.Fprintf(&b, "  %-*s  %-*s  %s\n", width[0], r[0], width[1], r[1], r[2])
	}
	if more := len(o.Splits) - listed; more > 0 {
		fmt.Fprintf(&b, "  and %d more, because members are joining or leaving\n", more)
	}
	fmt.Fprintf(&b, "\n%s\n", o.crashes())
	return b.String()
}

func (o Outlook) crashes() string {
	if o.Crashes == 0 {
		return "The crash of a single member may end all of them."
	}
	return fmt.Sprintf("Any %d may crash at the same moment, and the others survive.", o.Crashes)
}
