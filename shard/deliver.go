package shard

import (
	"context"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
)

// Delivery is what a type promises of the messages to its entities that come from
// other nodes, or have to wait for a home. What an entity is told on the node where it
// lives needs no such promise: it goes straight into its mailbox, and is lost only
// together with who told it.
type Delivery uint8

const (
	// AtLeastOnce is the default. The node where a message was told keeps it until
	// the entity has handled it, and sends it again when it, or the entity's node, was lost on the way. A
	// message is handled when its behavior has returned, an error too; by a Loop, when
	// that asks for the next one. One owner of a shard handles none twice; a graceful move hands
	// on what it knows. After a crash a message may be handled again: see [InHand].
	//
	// The order of a sender's messages to an entity holds through all of that. A message is
	// lost only if the node where it was told crashes, or, as a dead letter, when nothing was heard of
	// an owner for [Type.DeliverWithin], or ten owners in a row did not live to confirm it.
	AtLeastOnce Delivery = iota
	// AtMostOnce sends each message once. What is in the memory of a node that crashes, or
	// on a link that breaks, is lost.
	AtMostOnce
)

// String names the class.
func (d Delivery) String() string {
	if d == AtMostOnce {
		return "at most once"
	}
	return "at least once"
}

// A MessageID names a message that was sent [AtLeastOnce]: the same each time it comes.
type MessageID struct {
	Sender troupe.ID // the node where it was told
	Shard  string    // of the entity
	Number uint64    // counts the messages of the sender for the shard, from 1
}

// InHand tells an entity which message it handles: c is its Ctx, or a context made of
// that. repeat means that a former owner of the shard may have handled it
// already; who must not do so twice remembers the id together with what came of it. A
// message that was told on this node has no id, and is no repeat. It may be
// called by the entity only, while it handles the message.
func InHand(c context.Context) (id MessageID, repeat, ok bool) {
	cell, ok := actor.Current(c).(interface{ Receipt() actor.Receipt })
	if !ok {
		return MessageID{}, false, false
	}
	t, ok := cell.Receipt().(numbered)
	if !ok {
		return MessageID{}, false, false
	}
	id, repeat = t.message()
	return id, repeat, true
}

// numbered is a ticket of whatever type.
type numbered interface {
	message() (id MessageID, repeat bool)
}
