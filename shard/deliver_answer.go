package shard

// How much is kept of the answers that one sender's asks of one shard have had.
const (
	maxAnswers = 64
	maxAnswer  = 4 << 10 // bytes of one
)

// An answer was given to an ask that its sender keeps. It confirms the request by
// itself, so the request is confirmed in no other way, and stays open here, as long as
// the answer can be given again: if a link has lost it the sender, which waits, sends
// the request again or asks what became of it.
type answer struct {
	number uint64
	ask    *asked
}

// keepAnswer keeps an answer that was given, in place of the oldest if there are many.
// The slot's lock is held, as for all that follows.
func (from *inbound[M]) keepAnswer(a answer) {
	if !a.ask.repeatable() {
		from.in.Handled(a.number)
		return
	}
	if len(from.answers) == maxAnswers {
		from.forgetAnswers(from.answers[0].number, from.answers[0].number+1)
	}
	from.answers = append(from.answers, a)
}

// forgetAnswers forgets those to requests that the sender does not keep any more:
// from one number up to before another.
func (from *inbound[M]) forgetAnswers(lo, hi uint64) {
	kept := from.answers[:0]
	for _, a := range from.answers {
		if lo <= a.number && a.number < hi {
			from.in.Handled(a.number)
		} else {
			kept = append(kept, a)
		}
	}
	clear(from.answers[len(kept):])
	from.answers = kept
}

// answerAgain gives the answers to the requests from one number to another once more.
func (from *inbound[M]) answerAgain(first, last uint64) {
	for _, a := range from.answers {
		if first <= a.number && a.number <= last {
			a.ask.repeat()
		}
	}
}
