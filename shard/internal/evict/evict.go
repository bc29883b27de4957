// Package evict decides which of the live items of a bounded set has to go when
// there are too many.
//
// Use of an item is not reported: whoever holds the items counts it where it
// happens, at the price of a few bits per item, and a policy looks there when it
// chooses. So a policy costs nothing while items are used, a few words per item
// while they live, and a bounded number of looks per choice. It is not safe for
// concurrent use; all it does follows from its calls and what it sees there.
package evict

// An Entry is an item's place in a policy. Its owner sets the first fields,
// before it is added, and may change Size and State at any time.
type Entry[T any] struct {
	Value T
	Size  int64  // not looked at by the policies
	Hash  uint32 // of the item's name, by which it is known again after it has gone
	State uint8  // not looked at by the policies

	in         where
	freq       uint32 // uses, as the policy counts them
	at         int32  // in a heap
	key        int64  // the rank in a heap
	last       int64
	prev, next *Entry[T] // in a list
}

// In tells whether the entry is in a policy.
func (e *Entry[T]) In() bool { return e.in != nowhere }

// where an entry is.
type where uint8

const (
	nowhere where = iota
	ranked        // in a heap
	small         // in the list of newcomers
	main          // in the list of those that were used again
)

// A Use is what is known of the use of an item.
type Use struct {
	Last int64  // when it was used last, on a clock that does not run back
	More uint32 // how often it was used since the last look; a bound may cut it
}

// A Policy chooses. Its entries are those that were added and have not gone.
type Policy[T any] interface {
	// Add puts in an item that has come to life, or one that Next chose and that
	// could not go because it was in use.
	Add(*Entry[T])
	// Remove takes out an item that has ended by itself; it need not be in.
	Remove(*Entry[T])
	// Next takes out the one that should go; false when there is none.
	Next() (*Entry[T], bool)
	// Len is the number of entries.
	Len() int
}

// A choice looks at no more items than these, however many were used since they
// were looked at last, and then takes the best of what it saw.
const maxLooks = 32
