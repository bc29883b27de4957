package actor

// lingering is the habit of letting other goroutines go first, once, before one waits. It pays when they are about to bring what one would wait
// for: then nobody has to be woken, and a worker finds the messages of all of them. (Without, 64 askers of one actor wake and park a worker
// for each ask, because the first answer is there before the second question; and an asker and its actor wake each other
// each time.) Whether it pays is learned from the last time, and tried again now and then.
type lingering struct {
	paying bool
	waits  uint8
}

// probe is how often one lingers to see whether it pays again.
const probe = 16

// pays tells whether one should linger this time.
func (l *lingering) pays() bool {
	l.waits++
	return l.paying || l.waits%probe == 0
}

// paid notes whether what one lingered for had come.
func (l *lingering) paid(came bool) { l.paying = came }
