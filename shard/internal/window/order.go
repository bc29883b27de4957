package window

import (
	"slices"
	"time"
)

// An Order holds messages for a short time, so that those that come from several
// senders can be put into the order of their keys. The zero Order holds none.
type Order[P any] struct {
	held []waiting[P] // by key, those of one key as they came
	last int64        // the highest key that was released
	told bool         // one was
	at   time.Time    // when the last was
}

type waiting[P any] struct {
	key   int64
	until time.Time
	item  P
}

// Add holds a message until a time at most; false, and it is not held, if one with a
// higher key was released already.
func (o *Order[P]) Add(key int64, until time.Time, item P) bool {
	if o.told && key < o.last {
		return false
	}
	i, _ := slices.BinarySearchFunc(o.held, key, func(w waiting[P], key int64) int {
		if w.key <= key {
			return -1
		}
		return 1
	})
	o.held = slices.Insert(o.held, i, waiting[P]{key, until, item})
	return true
}

// Next releases the first message if its time has come, or that of one behind it, or
// if more than limit are held.
func (o *Order[P]) Next(now time.Time, limit int) (item P, ok bool) {
	if len(o.held) <= limit && !slices.ContainsFunc(o.held, func(w waiting[P]) bool { return !now.Before(w.until) }) {
		return item, false
	}
	first := o.held[0]
	o.held = slices.Delete(o.held, 0, 1)
	o.last, o.told, o.at = first.key, true, now
	return first.item, true
}

// Len is how many are held.
func (o *Order[P]) Len() int { return len(o.held) }

// Wake is when the next is to be released; zero if none is held.
func (o *Order[P]) Wake() (at time.Time) {
	for _, w := range o.held {
		if at.IsZero() || w.until.Before(at) {
			at = w.until
		}
	}
	return at
}

// Over tells whether the Order may be forgotten: it holds nothing, and has released
// nothing since a time.
func (o *Order[P]) Over(since time.Time) bool { return len(o.held) == 0 && o.at.Before(since) }

// Take empties the Order, by key.
func (o *Order[P]) Take() (items []P) {
	for _, w := range o.held {
		items = append(items, w.item)
	}
	o.held = nil
	return items
}
