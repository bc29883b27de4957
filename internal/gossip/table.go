package gossip

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// Reachability is what an observer says of a subject, or what a table says of
// it altogether.
type Reachability uint8

// The values, from harmless to final; they travel. Nobody takes Terminated back,
// but others may hold against it that the process has shown itself since: Disputed.
const (
	Reachable Reachability = iota
	Unreachable
	Terminated
	Disputed
)

// Table holds what each node says about the reachability of others. Only the
// observer changes its row, and the row's version rises with every change, so
// two tables are merged row by row. The zero Table says that all is well. It
// is never changed in place.
type Table struct{ rows []row } // by observer

// row is one observer's. It stays when nothing is left to say, because its
// version tells that it was taken back.
type row struct {
	observer member.ID
	version  uint64
	records  []record // by subject
}

type record struct {
	subject member.ID
	status  Reachability
	version uint64 // of the row when this was said
}

var reachabilityNames = [...]string{Reachable: "Reachable", Unreachable: "Unreachable", Terminated: "Terminated", Disputed: "Disputed"}

// String names the value.
func (r Reachability) String() string {
	if int(r) < len(reachabilityNames) {
		return reachabilityNames[r]
	}
	return "Unknown"
}

func (t Table) find(observer member.ID) (int, bool) {
	return search(t.rows, observer, nodeOfRow)
}

func (r row) find(subject member.ID) (int, bool) {
	return search(r.records, subject, nodeOfRecord)
}

// fine tells whether the row has nothing but Reachable to say.
func (r row) fine() bool {
	return !slices.ContainsFunc(r.records, func(r record) bool { return r.status != Reachable })
}

// Set records what observer says of subject now. The table stays as it is when
// that is no news, or less than that subject was Terminated.
func (t Table) Set(observer, subject member.ID, status Reachability) Table {
	i, known := t.find(observer)
	old := row{observer: observer}
	if known {
		old = t.rows[i]
	}
	j, said := old.find(subject)
	switch {
	case said && (old.records[j].status == status || old.records[j].status > max(status, Unreachable)):
		return t
	case status == Reachable && len(old.records) == 0:
		return t
	}
	next := row{observer: observer, version: old.version + 1, records: slices.Clone(old.records)}
	if said {
		next.records[j] = record{subject, status, next.version}
	} else {
		next.records = slices.Insert(next.records, j, record{subject, status, next.version})
	}
	if next.fine() {
		next.records = nil
	}
	rows := slices.Clone(t.rows)
	if known {
		rows[i] = next
	} else {
		rows = slices.Insert(rows, i, next)
	}
	return Table{rows}
}

// Status is what observer says of subject.
func (t Table) Status(observer, subject member.ID) Reachability {
	if i, ok := t.find(observer); ok {
		if j, ok := t.rows[i].find(subject); ok {
			return t.rows[i].records[j].status
		}
	}
	return Reachable
}

// Worst is the worst that anybody says of subject.
func (t Table) Worst(subject member.ID) Reachability {
	worst := Reachable
	for _, r := range t.rows {
		if j, ok := r.find(subject); ok {
			worst = max(worst, r.records[j].status)
		}
	}
	return worst
}

// terminated lists those that somebody holds for Terminated, and nobody disputes.
func (t Table) terminated() ids {
	var gone, disputed []member.ID
	for _, r := range t.rows {
		for _, rec := range r.records {
			switch rec.status {
			case Terminated:
				gone = append(gone, rec.subject)
			case Disputed:
				disputed = append(disputed, rec.subject)
			case Reachable, Unreachable:
			}
		}
	}
	return slices.DeleteFunc(setOf(gone), func(id member.ID) bool { return slices.Contains(disputed, id) })
}

// From lists whom observer holds for Unreachable, in order; not the Terminated.
func (t Table) From(observer member.ID) []member.ID {
	i, ok := t.find(observer)
	if !ok {
		return nil
	}
	var subjects []member.ID
	for _, r := range t.rows[i].records {
		if r.status == Unreachable {
			subjects = append(subjects, r.subject)
		}
	}
	return subjects
}

// by lists those of whom observer says something bad.
func (t Table) by(observer member.ID) ids {
	i, ok := t.find(observer)
	if !ok {
		return nil
	}
	return Table{t.rows[i : i+1]}.against(func(member.ID) bool { return true })
}

// Observations lists all that is not Reachable, by observer and subject.
func (t Table) Observations() []member.Observation {
	var all []member.Observation
	for _, r := range t.rows {
		for _, rec := range r.records {
			if rec.status != Reachable {
				all = append(all, member.Observation{Observer: r.observer, Subject: rec.subject})
			}
		}
	}
	return all
}

// against lists those of whom an observer that counts says something bad.
func (t Table) against(counts func(observer member.ID) bool) ids {
	var bad []member.ID
	for _, r := range t.rows {
		if r.fine() || !counts(r.observer) {
			continue
		}
		for _, rec := range r.records {
			if rec.status != Reachable {
				bad = append(bad, rec.subject)
			}
		}
	}
	return setOf(bad)
}

// Merge takes each observer's row from the table that has the later version of
// it, and keeps only what is by and about allowed nodes: all, without a function that
// tells who is.
func (t Table) Merge(o Table, allowed func(member.ID) bool) Table {
	var merged []row
	take := func(r row) {
		if allowed == nil {
			merged = append(merged, r)
			return
		}
		if !allowed(r.observer) {
			return
		}
		if slices.ContainsFunc(r.records, func(r record) bool { return !allowed(r.subject) }) {
			r.records = slices.DeleteFunc(slices.Clone(r.records), func(r record) bool { return !allowed(r.subject) })
		}
		merged = append(merged, r)
	}
	for l, r := range pairs(t.rows, o.rows, nodeOfRow) {
		if l == nil || r != nil && r.version >= l.version {
			l = r
		}
		take(*l)
	}
	return Table{merged}
}

// Remove drops what is by or about any of the nodes, versions included.
func (t Table) Remove(nodes ...member.ID) Table {
	return t.Merge(Table{}, func(id member.ID) bool { return !slices.Contains(nodes, id) })
}

// RemoveObservers drops what is by any of the nodes.
func (t Table) RemoveObservers(nodes ...member.ID) Table {
	return Table{slices.DeleteFunc(slices.Clone(t.rows), func(r row) bool { return slices.Contains(nodes, r.observer) })}
}

func (t Table) equal(o Table) bool {
	return shared(t.rows, o.rows) || slices.EqualFunc(t.rows, o.rows, sameRow)
}
