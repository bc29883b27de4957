package ring

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A Note is what a node writes on its seat for the others to read.
type Note struct {
	Node    member.ID
	Agree   string   // its Settings.Agree
	Weight  float64  // its Settings.Weight
	Groups  []string // its Settings.Groups
	Leaving bool     // it gives away what it has, and gets nothing more
}

// ErrNote: the bytes are no note of this version. Such a seat is left out of the
// assignment.
const ErrNote = protocol.Error("shard ring: not a note of this version")

const noteVersion = 1

// Append adds the form in which a note is stored to dst: a version, then the
// fields, lengths and numbers as uvarints, the weight as eight bytes.
func (n Note) Append(dst []byte) []byte {
	text := func(s string) {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	dst = append(dst, noteVersion)
	text(n.Node.Host)
	dst = binary.AppendUvarint(dst, uint64(n.Node.Port))
	dst = binary.AppendUvarint(dst, uint64(n.Node.UID))
	text(n.Agree)
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(n.Weight))
	dst = binary.AppendUvarint(dst, uint64(len(n.Groups)))
	for _, g := range n.Groups {
		text(g)
	}
	if n.Leaving {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// ParseNote reads what [Note.Append] writes, and nothing else.
func ParseNote(data []byte) (Note, error) {
	r := reader{data: data}
	version := r.byte()
	n := Note{Node: member.ID{Address: member.Address{Host: r.text()}}}
	port := r.uint()
	n.Node.Port, n.Node.UID = int(port&math.MaxUint16), int64(r.uint())
	n.Agree = r.text()
	n.Weight = math.Float64frombits(r.fixed())
	for range r.length() {
		n.Groups = append(n.Groups, r.text())
	}
	leaving := r.byte()
	n.Leaving = leaving == 1
	if r.bad || version != noteVersion || port > math.MaxUint16 || leaving > 1 || len(r.data) > 0 {
		return Note{}, fmt.Errorf("%w: %.16x", ErrNote, data)
	}
	return n, nil
}

func (n Note) runner() placement.Runner {
	return placement.Runner{Address: n.Node.Address, Weight: n.Weight, Groups: n.Groups}
}

// A reader takes fields off the front. Once bad, it reads only zeros.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.data) {
		r.bad, r.data = true, nil
		return make([]byte, min(n, 8))
	}
	head := r.data[:n]
	r.data = r.data[n:]
	return head
}

func (r *reader) byte() byte    { return r.take(1)[0] }
func (r *reader) fixed() uint64 { return binary.BigEndian.Uint64(r.take(8)) }

func (r *reader) uint() uint64 {
	n, used := binary.Uvarint(r.data)
	if used <= 0 || used > 1 && r.data[used-1] == 0 { // one form for each number
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[used:]
	return n
}

// length reads how much follows; each unit of it takes at least a byte.
func (r *reader) length() int {
	n := r.uint()
	if n > uint64(len(r.data)) {
		r.bad, r.data = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) text() string { return string(r.take(r.length())) }
