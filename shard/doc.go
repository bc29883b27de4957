// Package shard spreads entities over the nodes of a cluster: actors that are
// addressed by type and id, each living on exactly one node. A type's ids are
// divided over a fixed number of shards; a coordinator gives each shard a home, or
// with [Type.Ring] the nodes find one by locks in a store; entities start with
// their first message, move with their shard and are passivated when idle.
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
// later than that is delivered all the same, at most once perhaps behind what was told
// after it; the log names the node that was silent.
//
// [Type.Order] puts the messages of several senders in order.
//
// # Delivery
//
// An error from Tell means that the message was certainly not accepted. An
// accepted message is delivered at least once, unless the type says at most once:
// see [Delivery] for what that means, and [InHand] for how a repeat is known. What is
// not delivered is counted as a dead letter with its reason. Over a graceful move
// nothing is lost or repeated. An ask that cannot be answered any more fails with an
// error that says why, and whether it is safe to ask again.
//
// # Life
//
// An entity starts with its first message, and ends when it stops itself, is idle,
// or its shard moves; the next message starts it again. One that fails rests first:
// [Backoff]. With [Type.Remember] it starts again by itself wherever its shard
// lives, and what it keeps by [StateOf] only its shard's present owner can change.
//
// A fixed set of workers, such as ten readers of a queue, is a type that names them
// on all nodes in [Type.Always]: each lives on one of the nodes, all the time, without
// a store and without messages that keep it alive.
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
// a message may be encoded, be asked for its key and be dropped, so the protocol's
// codecs, [Type.Order], the node's log handler and the Value method of a teller's
// context must not block and must tell no entity.
package shard
