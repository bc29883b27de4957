package window

import (
	"encoding/binary"
	"fmt"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A Confirmation is what an owner tells a sender about one shard.
type Confirmation struct {
	Shard int32
	Done  []Range // handled, in order
	// Again is the number from which on the tenure of that epoch misses messages; 0 if it
	// misses none.
	Again uint64
	Epoch protocol.Epoch // zero with Again
}

// An Heir is what an owner hands on about one sender when its tenure ends.
type Heir struct {
	Sender  member.ID
	Upto    uint64 // what the sender keeps was seen up to here
	Carried uint64 // and so many of it were not handled, and come with the carry
}

// A Question is what a sender asks of an owner that says nothing: what became of
// the messages that it keeps, from First to Last.
type Question struct{ First, Last uint64 }

// ErrMalformed: the bytes are not what this version writes.
const ErrMalformed = protocol.Error("shard window: not understood")

// Integers are uvarints; a range is its distance from the one before, and its length.

// AppendConfirmations writes what goes to one sender.
func AppendConfirmations(dst []byte, all []Confirmation) []byte {
	for _, c := range all {
		dst = binary.AppendVarint(dst, int64(c.Shard))
		dst = binary.AppendUvarint(dst, c.Again)
		if c.Again > 0 {
			dst = binary.AppendUvarint(dst, c.Epoch.Term)
			dst = binary.AppendUvarint(dst, c.Epoch.N)
		}
		dst = binary.AppendUvarint(dst, uint64(len(c.Done)))
		end := uint64(0)
		for _, r := range c.Done {
			dst = binary.AppendUvarint(dst, r.Lo-end)
			dst = binary.AppendUvarint(dst, r.Hi-r.Lo)
			end = r.Hi
		}
	}
	return dst
}

// DecodeConfirmations is the inverse of AppendConfirmations. It keeps no part of data.
func DecodeConfirmations(data []byte) (all []Confirmation, err error) {
	r := reader{data: data}
	const least = 5 // bytes of a confirmation of one message
	ranges := make([]Range, 0, len(data)/least+1)
	all = make([]Confirmation, 0, len(data)/least+1)
	for len(r.data) > 0 && !r.bad {
		c := Confirmation{Shard: r.int32(), Again: r.uint()}
		if c.Again > 0 {
			c.Epoch = protocol.Epoch{Term: r.uint(), N: r.uint()}
		}
		end, first := uint64(0), len(ranges)
		for range r.count() {
			lo := r.sum(end, r.uint())
			hi := r.sum(lo, r.uint())
			if lo == 0 || lo <= end {
				r.bad = true
			}
			if r.bad {
				break
			}
			ranges = append(ranges, Range{lo, hi})
			end = hi
		}
		if len(ranges) > first {
			c.Done = ranges[first:len(ranges):len(ranges)]
		}
		all = append(all, c)
	}
	if r.bad {
		return nil, fmt.Errorf("confirmations: %w", ErrMalformed)
	}
	return all, nil
}

// AppendHeirs writes what goes to the next owner.
func AppendHeirs(dst []byte, all []Heir) []byte {
	for _, h := range all {
		dst = binary.AppendUvarint(dst, uint64(len(h.Sender.Host)))
		dst = append(dst, h.Sender.Host...)
		dst = binary.AppendUvarint(dst, uint64(uint16(h.Sender.Port)))
		dst = binary.BigEndian.AppendUint64(dst, uint64(h.Sender.UID))
		dst = binary.AppendUvarint(dst, h.Upto)
		dst = binary.AppendUvarint(dst, h.Carried)
	}
	return dst
}

// DecodeHeirs is the inverse of AppendHeirs. It keeps no part of data.
func DecodeHeirs(data []byte) (all []Heir, err error) {
	r := reader{data: data}
	for len(r.data) > 0 && !r.bad {
		var h Heir
		h.Sender.Host = string(r.bytes(r.count()))
		port := r.uint()
		r.bad = r.bad || port > 1<<16-1
		h.Sender.Port = int(port)
		if uid := r.bytes(8); uid != nil {
			h.Sender.UID = int64(binary.BigEndian.Uint64(uid))
		}
		h.Upto, h.Carried = r.uint(), r.uint()
		all = append(all, h)
	}
	if r.bad {
		return nil, fmt.Errorf("what a previous owner knew: %w", ErrMalformed)
	}
	return all, nil
}

// AppendQuestion writes a question.
func AppendQuestion(dst []byte, q Question) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, q.First), q.Last)
}

// DecodeQuestion is the inverse of AppendQuestion.
func DecodeQuestion(data []byte) (Question, error) {
	r := reader{data: data}
	q := Question{First: r.uint(), Last: r.uint()}
	if r.bad || len(r.data) > 0 || q.First == 0 || q.Last < q.First {
		return Question{}, fmt.Errorf("question: %w", ErrMalformed)
	}
	return q, nil
}

// A reader takes values off the front of data; bad once one was not there.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 || r.bad {
		r.bad = true
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) int32() int32 {
	v, n := binary.Varint(r.data)
	if n <= 0 || int64(int32(v)) != v {
		r.bad = true
		return 0
	}
	r.data = r.data[n:]
	return int32(v)
}

// count is a length: each of what it counts takes a byte at least.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.data)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) bytes(n int) []byte {
	if r.bad || n > len(r.data) {
		r.bad = true
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) sum(a, b uint64) uint64 {
	if a+b < a {
		r.bad = true
	}
	return a + b
}
