package shard

import (
	"cmp"
	"slices"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A watch tells of each wait once when it has lasted for longer than it may: until
// the time at which it should end by itself, or for bound if it has none. It is pure.
type watch struct {
	typ     string
	bound   time.Duration
	grace   time.Duration // after which a wait for the end of own entities is for ever
	waits   map[waitKey]*watched
	due     time.Time // of the next look
	pending bool      // something may have begun to wait since the last one
}

// A wait is another one when it is for something else, or began anew.
type waitKey struct {
	shard string
	what  troupe.WaitKind
	why   string
	since time.Time
}

type watched struct {
	first time.Time // when it was seen
	told  bool
}

// lookEvery is how often a watch looks at what waits.
const lookEvery = time.Second

// A Trouble is a wait that has lasted for longer than it may.
type Trouble struct {
	Type  string
	Shard string // empty: the type as a whole
	Wait  troupe.Wait
	// Fatal: entities of this node have not ended, not even by force. They block the
	// move of their shard, and only the end of the process helps.
	Fatal bool
}

func newWatch(typ string, bound, grace time.Duration) *watch {
	return &watch{typ: typ, bound: bound, grace: grace, waits: map[waitKey]*watched{}}
}

// look compares with what waits now. It gives all that is overdue, and what of it
// is so for the first time.
func (w *watch) look(now time.Time, waiting []protocol.Waiting) (overdue, fresh []Trouble) {
	w.due, w.pending = now.Add(lookEvery), len(waiting) > 0
	seen := make(map[waitKey]*watched, len(waiting))
	for _, x := range waiting {
		key := waitKey{x.Shard, x.Wait.What, x.Wait.Why, x.Wait.Since}
		was := w.waits[key]
		if was == nil {
			was = &watched{first: now}
		}
		seen[key] = was
		if x.Wait.Since.IsZero() {
			x.Wait.Since = was.first
		}
		late := now.Sub(w.end(x.Wait))
		if late <= 0 {
			continue
		}
		t := Trouble{Type: w.typ, Shard: x.Shard, Wait: x.Wait, Fatal: x.Wait.What == protocol.WaitEnd && late > w.grace}
		overdue = append(overdue, t)
		if !was.told {
			was.told = true
			fresh = append(fresh, t)
		}
	}
	w.waits = seen
	slices.SortStableFunc(overdue, func(a, b Trouble) int { return cmp.Compare(a.Shard, b.Shard) })
	return overdue, fresh
}

// end is when a wait should be over.
func (w *watch) end(x troupe.Wait) time.Time {
	if x.Until.After(x.Since) {
		return x.Until
	}
	return x.Since.Add(w.bound)
}

// wake is when to look next; zero for never.
func (w *watch) wake() time.Time {
	if w.pending {
		return w.due
	}
	return time.Time{}
}
