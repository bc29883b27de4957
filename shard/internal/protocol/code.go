package protocol

import (
	"encoding/binary"
	"fmt"

	"github.com/troupe-go/troupe/internal/member"
)

// A kind is the first byte of a message on the wire. Numbers are never reused.
type kind byte

const (
	kindClaim kind = iota + 1
	kindRegistered
	kindMismatch
	kindShardHomes
	kindHostShards
	kindBeginHandOff
	kindHandOff
	kindStopShards
	kindReport
	kindRefused
	kindGetShardHomes
	kindShardsStarted
	kindBeginHandOffAck
	kindShardsStopped
	kindGracefulShutdown
	kindStaleRoute
	kindArriving
	kindHighestTerm
	kindWishes
	kindStaying
	kindWishesKept
	kindLoads
	kindLook
	kindWhereIs
	kindHoused
	kindElsewhere
	kindHanding
	kindHanded
	kindReleased
)

func (Claim) kind() kind            { return kindClaim }
func (Registered) kind() kind       { return kindRegistered }
func (Mismatch) kind() kind         { return kindMismatch }
func (ShardHomes) kind() kind       { return kindShardHomes }
func (HostShards) kind() kind       { return kindHostShards }
func (BeginHandOff) kind() kind     { return kindBeginHandOff }
func (HandOff) kind() kind          { return kindHandOff }
func (StopShards) kind() kind       { return kindStopShards }
func (Report) kind() kind           { return kindReport }
func (Refused) kind() kind          { return kindRefused }
func (GetShardHomes) kind() kind    { return kindGetShardHomes }
func (ShardsStarted) kind() kind    { return kindShardsStarted }
func (BeginHandOffAck) kind() kind  { return kindBeginHandOffAck }
func (ShardsStopped) kind() kind    { return kindShardsStopped }
func (GracefulShutdown) kind() kind { return kindGracefulShutdown }
func (StaleRoute) kind() kind       { return kindStaleRoute }
func (Arriving) kind() kind         { return kindArriving }
func (HighestTerm) kind() kind      { return kindHighestTerm }
func (Wishes) kind() kind           { return kindWishes }
func (Staying) kind() kind          { return kindStaying }
func (WishesKept) kind() kind       { return kindWishesKept }
func (Loads) kind() kind            { return kindLoads }

// An Error is a fixed reason, to be compared with errors.Is.
type Error string

// Error gives the text.
func (e Error) Error() string { return string(e) }

// ErrMalformed: the bytes are no message of this version. They are dropped; the
// sender repeats what it needs an answer to.
const ErrMalformed = Error("shard protocol: not a control message of this version")

// Append adds the wire form of m to dst.
func Append(dst []byte, m Message) []byte {
	k := m.kind()
	c := coder{buf: append(dst, byte(k)), writing: true}
	forms[k].write(&c, m)
	return c.buf
}

// Decode reads one message that fills all of data, and keeps no part of it.
func Decode(data []byte) (Message, error) {
	if len(data) == 0 || int(data[0]) >= len(forms) || forms[data[0]].read == nil {
		return nil, fmt.Errorf("%w: unknown kind in %.8x", ErrMalformed, data)
	}
	c := coder{buf: data[1:]}
	m := forms[data[0]].read(&c)
	switch {
	case c.bad:
		return nil, fmt.Errorf("%w: %T cut short or out of range", ErrMalformed, m)
	case len(c.buf) > 0:
		return nil, fmt.Errorf("%w: %d bytes behind %T", ErrMalformed, len(c.buf), m)
	}
	return m, nil
}

// A form writes and reads one kind.
type form struct {
	write func(*coder, Message)
	read  func(*coder) Message
}

// forms is the one list of all kinds; nobody changes it.
var forms = [...]form{
	kindClaim:            formOf[Claim](),
	kindRegistered:       formOf[Registered](),
	kindMismatch:         formOf[Mismatch](),
	kindShardHomes:       formOf[ShardHomes](),
	kindHostShards:       formOf[HostShards](),
	kindBeginHandOff:     formOf[BeginHandOff](),
	kindHandOff:          formOf[HandOff](),
	kindStopShards:       formOf[StopShards](),
	kindReport:           formOf[Report](),
	kindRefused:          formOf[Refused](),
	kindGetShardHomes:    formOf[GetShardHomes](),
	kindShardsStarted:    formOf[ShardsStarted](),
	kindBeginHandOffAck:  formOf[BeginHandOffAck](),
	kindShardsStopped:    formOf[ShardsStopped](),
	kindGracefulShutdown: formOf[GracefulShutdown](),
	kindStaleRoute:       formOf[StaleRoute](),
	kindArriving:         formOf[Arriving](),
	kindHighestTerm:      formOf[HighestTerm](),
	kindWishes:           formOf[Wishes](),
	kindStaying:          formOf[Staying](),
	kindWishesKept:       formOf[WishesKept](),
	kindLoads:            formOf[Loads](),
	kindLook:             formOf[Look](),
	kindWhereIs:          formOf[WhereIs](),
	kindHoused:           formOf[Housed](),
	kindElsewhere:        formOf[Elsewhere](),
	kindHanding:          formOf[Handing](),
	kindHanded:           formOf[Handed](),
	kindReleased:         formOf[Released](),
}

func formOf[M Message, P interface {
	*M
	code(*coder)
}]() form {
	return form{
		write: func(c *coder, m Message) { v := m.(M); P(&v).code(c) },
		read:  func(c *coder) Message { var v M; P(&v).code(c); return v },
	}
}

// The layout of each message: said once, for both directions.

func (m *Claim) code(c *coder)            { c.header(&m.Header) }
func (m *Registered) code(c *coder)       { c.header(&m.Header) }
func (m *Mismatch) code(c *coder)         { c.header(&m.Header); c.text(&m.Agree) }
func (m *ShardHomes) code(c *coder)       { c.header(&m.Header); list(c, &m.Homes, (*coder).home) }
func (m *HostShards) code(c *coder)       { c.header(&m.Header); list(c, &m.Shards, (*coder).assignment) }
func (m *BeginHandOff) code(c *coder)     { c.header(&m.Header); list(c, &m.Moves, (*coder).move) }
func (m *StopShards) code(c *coder)       { c.header(&m.Header); list(c, &m.Shards, (*coder).tenure) }
func (m *Refused) code(c *coder)          { c.uint(&m.Highest); c.node(&m.Coordinator) }
func (m *GetShardHomes) code(c *coder)    { list(c, &m.Shards, (*coder).text) }
func (m *ShardsStarted) code(c *coder)    { list(c, &m.Shards, (*coder).tenure) }
func (m *BeginHandOffAck) code(c *coder)  { list(c, &m.Acks, (*coder).ack) }
func (m *ShardsStopped) code(c *coder)    { list(c, &m.Shards, (*coder).tenure) }
func (m *GracefulShutdown) code(c *coder) {}
func (m *Arriving) code(c *coder)         {}
func (m *HighestTerm) code(c *coder)      { c.uint(&m.Term) }
func (m *Wishes) code(c *coder)           { c.header(&m.Header); list(c, &m.Wishes, (*coder).wish) }
func (m *Staying) code(c *coder)          {}
func (m *WishesKept) code(c *coder)       { list(c, &m.Kept, (*coder).tenure) }
func (m *Loads) code(c *coder)            { list(c, &m.Loads, (*coder).load) }
func (m *StaleRoute) code(c *coder)       { c.text(&m.Shard); c.epoch(&m.Epoch) }

func (m *HandOff) code(c *coder) {
	c.header(&m.Header)
	list(c, &m.From, (*coder).node)
	list(c, &m.Moves, (*coder).leaving)
}

func (m *Report) code(c *coder) {
	c.uint(&m.Term)
	c.node(&m.Coordinator)
	c.text(&m.Agree)
	c.flag(&m.Proxy)
	c.flag(&m.Leaving)
	list(c, &m.Hosted, (*coder).hosted)
	list(c, &m.Released, (*coder).tenure)
	list(c, &m.Wishes, (*coder).wish)
}

func (c *coder) header(h *Header)         { c.uint(&h.Term); c.uint(&h.Seq) }
func (c *coder) epoch(e *Epoch)           { c.uint(&e.Term); c.uint(&e.N) }
func (c *coder) tenure(t *Tenure)         { c.text(&t.Shard); c.epoch(&t.Epoch) }
func (c *coder) home(h *Home)             { c.tenure(&h.Tenure); c.node(&h.Node) }
func (c *coder) assignment(a *Assignment) { c.tenure(&a.Tenure); c.node(&a.Previous) }
func (c *coder) move(m *Move)             { c.tenure(&m.Tenure); c.node(&m.Host); c.epoch(&m.Next) }
func (c *coder) leaving(l *Leaving)       { c.tenure(&l.Tenure); c.epoch(&l.Next) }
func (c *coder) ack(a *Ack)               { c.text(&a.Shard); c.epoch(&a.Next); c.flag(&a.Marked) }
func (c *coder) hosted(h *Hosted)         { c.tenure(&h.Tenure); c.flag(&h.Draining) }
func (c *coder) wish(w *Wish)             { c.text(&w.Shard); c.address(&w.To); c.epoch(&w.At) }
func (c *coder) load(l *Load) {
	c.text(&l.Shard)
	c.uint(&l.Messages)
	c.uint(&l.Bytes)
	c.uint(&l.Seconds)
}

func (c *coder) node(id *member.ID) {
	uid := uint64(id.UID)
	c.address(&id.Address)
	c.uint(&uid)
	id.UID = int64(uid)
}

func (c *coder) address(a *member.Address) {
	port := uint64(a.Port)
	c.text(&a.Host)
	c.uint(&port)
	if port > 1<<16-1 {
		c.bad, port = true, 0
	}
	a.Port = int(port)
}

// A coder walks over a message and either writes it or fills it in. Once bad, it
// reads only zeros.
type coder struct {
	buf     []byte // written so far, or left to read
	writing bool
	bad     bool
}

func (c *coder) uint(v *uint64) {
	if c.writing {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	n, used := binary.Uvarint(c.buf)
	if used <= 0 || used > 1 && c.buf[used-1] == 0 { // one form for each number
		c.bad, c.buf = true, nil
		return
	}
	*v, c.buf = n, c.buf[used:]
}

func (c *coder) flag(v *bool) {
	var n uint64
	if *v {
		n = 1
	}
	c.uint(&n)
	c.bad = c.bad || n > 1
	*v = n == 1
}

func (c *coder) text(v *string) {
	if c.writing {
		c.buf = binary.AppendUvarint(c.buf, uint64(len(*v)))
		c.buf = append(c.buf, *v...)
		return
	}
	n := c.length()
	*v, c.buf = string(c.buf[:n]), c.buf[n:]
}

// length reads how much follows: each unit of it takes at least a byte, so that
// what is asked for is never more than what was sent.
func (c *coder) length() int {
	var n uint64
	c.uint(&n)
	if n > uint64(len(c.buf)) {
		c.bad, c.buf = true, nil
		return 0
	}
	return int(n)
}

func list[E any](c *coder, v *[]E, each func(*coder, *E)) {
	if c.writing {
		c.buf = binary.AppendUvarint(c.buf, uint64(len(*v)))
		for i := range *v {
			each(c, &(*v)[i])
		}
		return
	}
	n := c.length()
	if n == 0 {
		return
	}
	*v = make([]E, 0, min(n, maxList)) // grows with what really comes
	for range n {
		var e E
		each(c, &e)
		if c.bad {
			return
		}
		*v = append(*v, e)
	}
}
