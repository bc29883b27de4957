package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/troupe-go/troupe/internal/member"
)

// The handshake is one hello from the side that dialed and one answer from the
// side that accepted. Both begin with eight bytes that no version changes:
//
//	magic (4) · lowest or chosen version (1) · highest version or refusal (1) · length of the body (2)
//
// Fields are appended to a body, never removed; what follows the known fields
// is from a newer version and skipped. All numbers are big-endian.
const (
	helloMagic  = "TRPh" // another than answerMagic: a socket may connect to itself
	answerMagic = "TRPa"

	lowestVersion  = 1
	highestVersion = 1

	preambleBytes = 8
	maxBody       = 2048 // bytes of a body; all fields at their greatest take less
	maxText       = 512  // bytes of a refusal's explanation
	maxString     = 255  // bytes of a cluster's name, a host, a proof
)

// A hello says who dials, whom it wants, and what the connection is for.
type hello struct {
	lowest, highest byte
	cluster         string
	from            member.ID
	to              member.ID // UID 0: whoever is at the address
	lane            Lane
	round           uint64 // of the link: greater for every later connection of the same sender
	maxFrame        uint32 // greatest payload that the dialing node accepts
	proof           string // that it knows the secret, see [Secret]; empty without one
}

// An answer says who accepted and whether it wants the connection. A second
// answer on the same connection is a goodbye.
type answer struct {
	version  byte    // chosen by the accepting side
	refusal  Refusal // zero: accepted
	cluster  string
	from     member.ID
	maxFrame uint32 // greatest payload that the accepting node takes
	text     string // explains a refusal
	proof    string // that this side knows the secret; empty without one, and to who has not proved it
}

func (h *hello) encode() []byte {
	b := append(make([]byte, 0, 128), helloMagic...)
	b = append(b, h.lowest, h.highest, 0, 0)
	start := len(b)
	b = appendString(b, h.cluster)
	b = appendID(b, h.from)
	b = appendID(b, h.to)
	b = append(b, byte(h.lane))
	b = binary.BigEndian.AppendUint64(b, h.round)
	b = binary.BigEndian.AppendUint32(b, h.maxFrame)
	b = appendString(b, h.proof)
	binary.BigEndian.PutUint16(b[start-2:], uint16(len(b)-start))
	return b
}

func (a *answer) encode() []byte {
	b := append(make([]byte, 0, 128), answerMagic...)
	b = append(b, a.version, byte(a.refusal), 0, 0)
	start := len(b)
	b = appendString(b, a.cluster)
	b = appendID(b, a.from)
	b = binary.BigEndian.AppendUint32(b, a.maxFrame)
	text := a.text[:min(len(a.text), maxText)]
	b = binary.BigEndian.AppendUint16(b, uint16(len(text)))
	b = append(b, text...)
	b = appendString(b, a.proof)
	binary.BigEndian.PutUint16(b[start-2:], uint16(len(b)-start))
	return b
}

// said is the hello as its proof covers it.
func (h hello) said() []byte {
	h.proof = ""
	return h.encode()
}

// said is the answer as its proof covers it.
func (a answer) said() []byte {
	a.proof = ""
	return a.encode()
}

func appendString(b []byte, s string) []byte {
	s = s[:min(len(s), maxString)]
	return append(append(b, byte(len(s))), s...)
}

func appendID(b []byte, id member.ID) []byte {
	b = appendString(b, id.Host)
	b = binary.BigEndian.AppendUint16(b, uint16(id.Port))
	return binary.BigEndian.AppendUint64(b, uint64(id.UID))
}

// A preamble is the part of a handshake message that all versions share.
type preamble struct {
	a, b byte
	body int
}

var errMagic = errors.New("not a troupe handshake")

func parsePreamble(b []byte, magic string) (preamble, error) {
	if len(b) < preambleBytes {
		return preamble{}, io.ErrUnexpectedEOF
	}
	if string(b[:4]) != magic {
		return preamble{}, fmt.Errorf("%w: begins with %q%s", errMagic, b[:4], plainHint(b))
	}
	p := preamble{a: b[4], b: b[5], body: int(binary.BigEndian.Uint16(b[6:]))}
	if p.body > maxBody {
		return preamble{}, fmt.Errorf("handshake of %d bytes, the limit is %d", p.body, maxBody)
	}
	return p, nil
}

// plainHint names the usual cause of bytes that begin like a record of TLS: a
// handshake or an alert.
func plainHint(b []byte) string {
	if (b[0] == 0x15 || b[0] == 0x16) && b[1] == 3 {
		return "; the other side is configured with TLS or Secret, this one is not"
	}
	return ""
}

func parseHello(p preamble, body []byte) (hello, error) {
	r := reader{rest: body}
	h := hello{
		lowest: p.a, highest: p.b,
		cluster: r.string(), from: r.id(), to: r.id(),
		lane: Lane(r.byte()), round: r.uint64(), maxFrame: r.uint32(), proof: r.string(),
	}
	switch {
	case r.err != nil:
		return hello{}, fmt.Errorf("hello: %w", r.err)
	case h.from.UID == 0:
		return hello{}, fmt.Errorf("hello: sender %v has no incarnation", h.from)
	case h.lane > maxLanes:
		return hello{}, fmt.Errorf("hello: lane %d, the greatest is %d", h.lane, maxLanes)
	case h.to.UID == 0 && h.lane != Control:
		return hello{}, fmt.Errorf("hello: lane %d without an incarnation", h.lane)
	}
	return h, nil
}

func parseAnswer(p preamble, body []byte) (answer, error) {
	r := reader{rest: body}
	a := answer{
		version: p.a, refusal: Refusal(p.b),
		cluster: r.string(), from: r.id(), maxFrame: r.uint32(), text: r.text(), proof: r.string(),
	}
	if r.err != nil {
		return answer{}, fmt.Errorf("answer: %w", r.err)
	}
	return a, nil
}

// readHello reads exactly one hello, so that frames behind it stay unread.
func readHello(r io.Reader) (hello, error) {
	p, body, err := readMessage(r, helloMagic)
	if err != nil {
		return hello{}, err
	}
	return parseHello(p, body)
}

func readAnswer(r io.Reader) (answer, error) {
	p, body, err := readMessage(r, answerMagic)
	if err != nil {
		return answer{}, err
	}
	return parseAnswer(p, body)
}

func readMessage(r io.Reader, magic string) (preamble, []byte, error) {
	var head [preambleBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return preamble{}, nil, err
	}
	p, err := parsePreamble(head[:], magic)
	if err != nil {
		return preamble{}, nil, err
	}
	body := make([]byte, p.body)
	_, err = io.ReadFull(r, body)
	return p, body, err
}

// A reader takes fields off a body and remembers the first error, so that a
// decoder reads like the list of its fields.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) take(n int) []byte {
	if r.err == nil && n > len(r.rest) {
		r.err = io.ErrUnexpectedEOF
	}
	if r.err != nil {
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) string() string { return string(r.take(int(r.byte()))) }

func (r *reader) text() string { return string(r.take(int(r.uint16()))) }

// id takes an identity and insists on the one spelling of its host: two
// spellings of one node would be two nodes.
func (r *reader) id() member.ID {
	id := member.ID{Address: member.Address{Host: r.string(), Port: int(r.uint16())}, UID: int64(r.uint64())}
	if r.err != nil {
		return member.ID{}
	}
	a, err := member.ParseAddress(id.Address.String())
	switch {
	case err != nil:
		r.err = err
	case a != id.Address:
		r.err = fmt.Errorf("address %q is not in canonical form %q", id.Address.String(), a.String())
	}
	return id
}

// judge decides on a hello for a node: zero accepts; a refusal comes with a text
// that shows both sides what was expected and what was given.
func judge(h hello, cluster string, self member.ID) (Refusal, string) {
	switch {
	case h.lowest > highestVersion || h.highest < lowestVersion:
		return RefusedVersion, fmt.Sprintf("this node speaks versions %d to %d, the caller %d to %d", lowestVersion, highestVersion, h.lowest, h.highest)
	case h.cluster != cluster:
		return RefusedCluster, fmt.Sprintf("this node is of cluster %q, the caller of cluster %q", cluster, h.cluster)
	case h.from == self:
		return RefusedAddress, fmt.Sprintf("a node dialed itself by the name %v", h.to.Address)
	case h.to.Address != self.Address:
		return RefusedAddress, fmt.Sprintf("this node is known as %v, the caller used %v", self.Address, h.to.Address)
	case h.to.UID != 0 && h.to.UID != self.UID:
		return RefusedIncarnation, fmt.Sprintf("this node is incarnation %d, the caller wanted %d", self.UID, h.to.UID)
	default:
		return 0, ""
	}
}

// check is the dialing side's half of the decision: an accepting answer must
// come from whom this node wanted.
func check(a answer, cluster string, wanted member.ID) error {
	switch {
	case a.version < lowestVersion || a.version > highestVersion:
		return fmt.Errorf("peer chose version %d, this node speaks %d to %d", a.version, lowestVersion, highestVersion)
	case a.cluster != cluster:
		return fmt.Errorf("peer is of cluster %q, this node of cluster %q", a.cluster, cluster)
	case a.from.Address != wanted.Address:
		return fmt.Errorf("peer is known as %v, this node used %v", a.from.Address, wanted.Address)
	case wanted.UID != 0 && a.from.UID != wanted.UID:
		return fmt.Errorf("peer is incarnation %d, this node wanted %d", a.from.UID, wanted.UID)
	case a.maxFrame < minFrame:
		return fmt.Errorf("peer accepts frames of %d bytes, the least is %d", a.maxFrame, minFrame)
	default:
		return nil
	}
}
