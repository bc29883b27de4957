// Package shard spreads entities over the nodes of a cluster: actors that are
// addressed by type and id, each living on exactly one node. A type's ids are
// divided over a fixed number of shards; a coordinator gives each shard a home;
// entities start with their first message, move with their shard and are
// passivated when idle.
//
// # Order
//
// What one sender tells one entity arrives in order, also over passivations and
// graceful moves. A sender is a goroutine that tells one message after the
// other. Nothing is promised about different senders or different entities.
//
// A move waits for the other nodes, but not for ever: 5 s for each to say that it
// has stopped sending, 5 s more for its last message, and 10 s for what the
// previous host carries over (less if [Type.HandOffTimeout] is less). What comes
// later than that is delivered all the same, perhaps behind what was told after
// it; the log names the node that was silent.
//
// # Delivery
//
// An error from Tell means that the message was certainly not accepted. An
// accepted message is handled by the entity, or it is counted as a dead letter
// with its reason, or it was lost in the crash of a node. Over a graceful move
// nothing is lost or repeated. An ask that cannot be answered any more fails
// with an error that says why; one that waits longer than its asker is dropped.
//
// # Blocking
//
// Tell never blocks; TellWait does while something is full, until there is room or
// its context ends. A message for an entity that lives on this node
// goes straight into its mailbox; for one elsewhere it is encoded once and
// queued on the link; while the home is unknown or moving it waits in a buffer
// that is bounded by [Type.Buffer].
//
// # Who owns what
//
// One goroutine per type owns the protocol's pure cores (shard/internal) and
// carries out what they decide. The state of one shard is guarded by one lock,
// which is held while a message is queued, never while an entity runs: it makes
// "stop sending, then say so in the same lane" one step for all tellers. Under it
// a message may be encoded and a drop be logged, so the protocol's codecs, the
// node's log handler and the Value method of a teller's context must not block and
// must tell no entity.
package shard
