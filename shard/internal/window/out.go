package window

import (
	"math"
	"slices"
	"time"

	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// An Out keeps what one sender has sent to one shard until it is confirmed. The
// zero Out is ready for use.
//
// It is moved by Tick, a few times a second while it keeps anything, so that
// nobody reads a clock for a message.
type Out[P any] struct {
	last  uint64    // the number of the last message
	kept  []Kept[P] // in order, from head on
	head  int       // all in front of it are let go of
	gone  int       // how many behind it are, and not cut out yet
	waits int       // how many are not handled
	again uint64    // all that are kept from this number on have to be sent again; 0 for none

	tenure uint32         // counts the tenures that were sent to
	epoch  protocol.Epoch // the last of them

	quiet time.Time     // since when nothing goes on; zero: something has since the last Tick
	word  bool          // the owner has said something since the last Tick
	heard time.Time     // when it last did
	gap   time.Duration // from one question to the next
}

// Kept is a message that is not confirmed. There may be many, so it is small.
type Kept[P any] struct {
	Number  uint64
	Handled bool // confirmed, and kept for another reason
	gone    bool
	Before  uint8  // how many former tenures may have handled it, 255 for more
	tenure  uint32 // that it was sent to last
	at      int64  // when it was accepted, or a Tick later, as Unix time in ns; zero before the first
	Item    P
}

// Add keeps a message that is being sent to a tenure, and numbers it. after is what
// the owner must have seen before.
func (o *Out[P]) Add(e protocol.Epoch, item P) (n, after uint64) {
	if o.head < len(o.kept) {
		after = o.last
	}
	o.last++
	o.waits++
	o.kept = append(o.kept, Kept[P]{Number: o.last, tenure: o.tenureOf(e), Item: item})
	return o.last, after
}

// tenureOf counts on when e is another one than the last.
func (o *Out[P]) tenureOf(e protocol.Epoch) uint32 {
	if e != o.epoch {
		o.epoch = e
		o.tenure++
	}
	return o.tenure
}

// Undo takes back the last Add: the message could not be sent.
func (o *Out[P]) Undo() {
	o.last--
	o.waits--
	o.kept[len(o.kept)-1] = Kept[P]{}
	o.kept = o.kept[:len(o.kept)-1]
}

// Len is how many are kept.
func (o *Out[P]) Len() int { return len(o.kept) - o.head - o.gone }

// Waits is how many of them are not handled.
func (o *Out[P]) Waits() int { return o.waits }

// Confirm notes that the messages of a range were handled. For each that is kept it
// calls stay, which tells whether it must be kept all the same.
func (o *Out[P]) Confirm(r Range, stay func(*Kept[P]) bool) {
	for i := o.find(r.Lo); i < len(o.kept) && o.kept[i].Number <= r.Hi; i++ {
		k := &o.kept[i]
		if k.gone {
			continue
		}
		if !k.Handled {
			k.Handled = true
			o.waits--
		}
		if !stay(k) {
			o.drop(i)
		}
	}
	o.cut()
}

// Heard notes that the owner has said something, and whether anything has come of it.
func (o *Out[P]) Heard(progress bool) {
	o.word = true
	if progress {
		o.quiet = time.Time{}
	}
}

// Let lets go of one message.
func (o *Out[P]) Let(n uint64) {
	if i := o.find(n); i < len(o.kept) && o.kept[i].Number == n && !o.kept[i].gone {
		if !o.kept[i].Handled {
			o.waits--
		}
		o.drop(i)
		o.cut()
	}
}

// Release lets go of all that match.
func (o *Out[P]) Release(match func(*Kept[P]) bool) {
	for i := o.head; i < len(o.kept); i++ {
		if k := &o.kept[i]; !k.gone && match(k) {
			if !k.Handled {
				o.waits--
			}
			o.drop(i)
		}
	}
	o.cut()
}

func (o *Out[P]) drop(i int) {
	o.kept[i] = Kept[P]{Number: o.kept[i].Number, at: o.kept[i].at, gone: true}
	o.gone++
}

// cut cuts out what is let go of: in front at once, the rest when it is half of all.
func (o *Out[P]) cut() {
	for o.head < len(o.kept) && o.kept[o.head].gone {
		o.head++
		o.gone--
	}
	const few = 32
	switch left := len(o.kept) - o.head; {
	case left == 0:
		o.kept, o.head = o.kept[:0], 0
		if cap(o.kept) > 128*few { // the memory of a busy time
			o.kept = nil
		}
	case o.gone > left/2:
		rest := slices.DeleteFunc(o.kept[o.head:], func(k Kept[P]) bool { return k.gone })
		o.kept, o.gone = o.kept[:o.head+len(rest)], 0
	case o.head > max(left, few):
		rest := copy(o.kept, o.kept[o.head:])
		clear(o.kept[rest:])
		o.kept, o.head = o.kept[:rest], 0
	}
}

// find gives the place of the first message with that number or a higher one.
func (o *Out[P]) find(n uint64) int {
	i, j := o.head, len(o.kept)
	for i < j {
		if m := int(uint(i+j) / 2); o.kept[m].Number < n {
			i = m + 1
		} else {
			j = m
		}
	}
	return i
}

// Again has all that are kept from a number on sent again, before anything new.
func (o *Out[P]) Again(from uint64) {
	if o.again == 0 || from < o.again {
		o.again = max(from, 1)
	}
}

// Moved is Again of all, if there are any that were sent to another tenure last.
func (o *Out[P]) Moved(e protocol.Epoch) {
	tenure := o.tenureOf(e)
	for i := o.head; i < len(o.kept); i++ {
		if k := &o.kept[i]; !k.gone && k.tenure != tenure {
			o.Again(1)
			return
		}
	}
}

// Next gives the first that has to be sent again, to a tenure, and what the owner must
// have seen before; nil if there is none. Sent must follow when it was.
func (o *Out[P]) Next(e protocol.Epoch) (k *Kept[P], after uint64) {
	if o.again == 0 {
		return nil, 0
	}
	i := o.find(o.again)
	for i < len(o.kept) && o.kept[i].gone {
		i++
	}
	if i == len(o.kept) {
		o.again = 0
		return nil, 0
	}
	for b := i - 1; b >= o.head; b-- {
		if !o.kept[b].gone {
			after = o.kept[b].Number
			break
		}
	}
	k = &o.kept[i]
	if tenure := o.tenureOf(e); k.tenure != tenure {
		k.Before, k.tenure = min(k.Before, math.MaxUint8-1)+1, tenure
	}
	return k, after
}

// Sent notes that what Next gave was sent.
func (o *Out[P]) Sent(k *Kept[P]) { o.again = k.Number + 1 }

// First gives the first that is kept, nil if there is none.
func (o *Out[P]) First() *Kept[P] {
	if o.head == len(o.kept) {
		return nil
	}
	return &o.kept[o.head]
}

// Tick notes the time, and tells whether the owner should be asked what it has,
// because it has said nothing for a while: for first, then for twice as long each
// time up to longest.
func (o *Out[P]) Tick(now time.Time, first, longest time.Duration) (ask bool) {
	for i := len(o.kept) - 1; i >= o.head && o.kept[i].at == 0; i-- {
		o.kept[i].at = now.UnixNano()
	}
	if o.word || o.waits == 0 || o.heard.IsZero() {
		o.word, o.heard = false, now
	}
	if o.quiet.IsZero() || o.waits == 0 {
		o.quiet, o.gap = now, first
		return false
	}
	if now.Before(o.quiet.Add(o.gap)) {
		return false
	}
	o.quiet = now
	o.gap = min(2*o.gap, longest)
	return true
}

// Span gives the first and the last that are not handled; ok is false if there is none.
func (o *Out[P]) Span() (first, last uint64, ok bool) {
	for i := o.head; i < len(o.kept); i++ {
		if k := &o.kept[i]; !k.gone && !k.Handled {
			if !ok {
				first = k.Number
			}
			last, ok = k.Number, true
		}
	}
	return first, last, ok
}

// Overdue lets go of what no owner has said anything about since a time before
// which it was accepted, and gives it to give.
func (o *Out[P]) Overdue(since time.Time, give func(*Kept[P])) {
	if o.heard.After(since) {
		return
	}
	o.Release(func(k *Kept[P]) bool {
		if k.Handled || k.at == 0 || k.at > since.UnixNano() {
			return false
		}
		give(k)
		return true
	})
}
