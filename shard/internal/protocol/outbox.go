package protocol

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// maxList bounds the entries of a merged message, and so the size of a frame: a
// thousand moves are some 50 kB.
const maxList = 1000

// An Outbox collects the packets of one step. A message for a node joins the
// one before it to the same node if they are of one kind, as one with a longer
// list: a thousand shards move in a handful of messages, and no two change
// places. The zero Outbox is empty.
type Outbox struct {
	packets []Packet
	last    map[member.ID]int // the newest packet for each node
}

// Add puts a message behind those that were added before. The box owns its
// lists from now on.
func (o *Outbox) Add(to member.ID, m Message) {
	if i, ok := o.last[to]; ok {
		if before, ok := o.packets[i].Msg.(joiner); ok {
			if longer, ok := before.join(m); ok {
				o.packets[i].Msg = longer
				return
			}
		}
	}
	if o.last == nil {
		o.last = make(map[member.ID]int)
	}
	o.last[to] = len(o.packets)
	o.packets = append(o.packets, Packet{To: to, Msg: m})
}

// Take empties the box.
func (o *Outbox) Take() []Packet {
	packets := o.packets
	*o = Outbox{}
	return packets
}

// A joiner is a message that can take in the next one.
type joiner interface {
	join(next Message) (Message, bool)
}

func extend[E any](list *[]E, more []E) bool {
	if len(*list)+len(more) > maxList {
		return false
	}
	*list = append(*list, more...)
	return true
}

func (m ShardHomes) join(next Message) (Message, bool) {
	n, ok := next.(ShardHomes)
	return m, ok && n.Term == m.Term && extend(&m.Homes, n.Homes)
}

func (m HostShards) join(next Message) (Message, bool) {
	n, ok := next.(HostShards)
	return m, ok && n.Term == m.Term && extend(&m.Shards, n.Shards)
}

func (m BeginHandOff) join(next Message) (Message, bool) {
	n, ok := next.(BeginHandOff)
	return m, ok && n.Term == m.Term && extend(&m.Moves, n.Moves)
}

func (m HandOff) join(next Message) (Message, bool) {
	n, ok := next.(HandOff)
	return m, ok && n.Term == m.Term && slices.Equal(n.From, m.From) && extend(&m.Moves, n.Moves)
}

func (m StopShards) join(next Message) (Message, bool) {
	n, ok := next.(StopShards)
	return m, ok && n.Term == m.Term && extend(&m.Shards, n.Shards)
}

func (m GetShardHomes) join(next Message) (Message, bool) {
	n, ok := next.(GetShardHomes)
	return m, ok && extend(&m.Shards, n.Shards)
}

func (m ShardsStarted) join(next Message) (Message, bool) {
	n, ok := next.(ShardsStarted)
	return m, ok && extend(&m.Shards, n.Shards)
}

func (m BeginHandOffAck) join(next Message) (Message, bool) {
	n, ok := next.(BeginHandOffAck)
	return m, ok && extend(&m.Acks, n.Acks)
}

func (m ShardsStopped) join(next Message) (Message, bool) {
	n, ok := next.(ShardsStopped)
	return m, ok && extend(&m.Shards, n.Shards)
}

func (m Wishes) join(next Message) (Message, bool) {
	n, ok := next.(Wishes)
	return m, ok && n.Term == m.Term && extend(&m.Wishes, n.Wishes)
}

func (m WishesKept) join(next Message) (Message, bool) {
	n, ok := next.(WishesKept)
	return m, ok && extend(&m.Kept, n.Kept)
}
