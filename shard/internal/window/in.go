package window

// An In is what the owner of a shard knows of the messages of one sender, for the
// time of its tenure. The zero In has seen none.
type In struct {
	upto  uint64 // what the sender still keeps was seen up to here
	ahead Set    // seen beyond it: a previous owner carried it over
	open  Set    // seen, not handled yet
	told  uint64 // the gap that the sender knows of, so that not every message behind it tells it again
}

// A Verdict is what to do with a message that came.
type Verdict uint8

// The verdicts.
const (
	New    Verdict = iota // take it: [In.Handled] must follow, or [In.Refuse] at once
	Repeat                // it was taken before: drop it
	Gap                   // something in front of it is missing: drop it, both will come again
)

// Arrive takes a message that came from the sender itself. after is the number of
// the message in front of it that the sender still kept; 0 for none.
func (in *In) Arrive(n, after uint64) Verdict {
	switch {
	case n <= in.upto:
		return Repeat
	case after > in.upto:
		return Gap
	}
	in.upto = n
	taken := in.ahead.Has(n)
	in.ahead.CutTo(n)
	if taken {
		return Repeat
	}
	in.open.Add(n)
	return New
}

// Refuse takes back the [New] of the last Arrive, because there is no room. The
// sender is not told, lest it sends again at once; it asks by itself.
func (in *In) Refuse(n uint64) {
	in.open.Remove(n)
	in.upto = n - 1
	in.told = n
}

// Carried takes a message that a previous owner had taken and carries over; false
// if it was taken here already.
func (in *In) Carried(n uint64) bool {
	if n <= in.upto || in.ahead.Has(n) {
		return false
	}
	in.ahead.Add(n)
	in.open.Add(n)
	return true
}

// Handled notes that a message need not come again.
func (in *In) Handled(n uint64) { in.open.Remove(n) }

// Done tells whether a message that is a repeat was handled: then it is to
// be confirmed again.
func (in *In) Done(n uint64) bool { return n <= in.upto && !in.open.Has(n) }

// Missing gives the number from which on the sender has to send again, unless it
// was told so before.
func (in *In) Missing() (from uint64, tell bool) {
	from = in.upto + 1
	tell = in.told != from
	in.told = from
	return from, tell
}

// Asked answers a sender that keeps messages from first to last and has heard
// nothing for a while: done were handled; it should send again from that number on, 0 if
// all are here.
func (in *In) Asked(first, last uint64) (done []Range, again uint64) {
	if last > in.upto {
		again = in.upto + 1
		in.told = again
		last = in.upto
	}
	return in.open.Without(Range{first, last}), again
}

// Open is how many are in hand.
func (in *In) Open() uint64 { return in.open.Len() }

// Upto is the number up to which nothing is missing.
func (in *In) Upto() uint64 { return in.upto }

// Inherit takes over what a previous owner knew, when it has carried over all it
// had: so many, and upto is how far it was. If not all of them have come nothing is
// taken over: what is missing comes again from the sender, with what the
// previous owner has handled and the sender does not know of yet.
func (in *In) Inherit(upto, carried uint64) (whole bool) {
	if in.ahead.Len() != carried {
		return false
	}
	in.upto = max(in.upto, upto)
	in.ahead.CutTo(in.upto)
	return true
}
