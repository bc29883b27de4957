package troupe

import "time"

// complainEvery is how often one kind of complaint about one peer is logged.
const complainEvery = time.Minute

// complaints keeps what repeats while it lasts from flooding the log. It
// belongs to the owner goroutine.
type complaints struct {
	last    map[complaint]time.Time
	skipped map[complaint]int
}

type complaint struct {
	about ID
	kind  string
}

// worth tells whether a complaint is to be logged now, and how many like it
// were not since the last one.
func (c *complaints) worth(now time.Time, about ID, kind string) (skipped int, ok bool) {
	k := complaint{about, kind}
	if last, said := c.last[k]; said && now.Sub(last) < complainEvery {
		c.skipped[k]++
		return 0, false
	}
	for old, last := range c.last { // forget what is over; the peers of a minute are few
		if now.Sub(last) >= complainEvery && old != k {
			delete(c.last, old)
			delete(c.skipped, old)
		}
	}
	if c.last == nil {
		c.last, c.skipped = map[complaint]time.Time{}, map[complaint]int{}
	}
	skipped = c.skipped[k]
	c.last[k], c.skipped[k] = now, 0
	return skipped, true
}
