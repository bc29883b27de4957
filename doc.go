// Package troupe is the node: one process's membership in a cluster of
// stateful entities.
//
// [Start] opens the links and joins; [Node.Leave] hands over what the node has
// and leaves; [Node.View] is the membership as this node sees it. Everything
// else hangs on a node: it is a host of actors (package actor), entity types
// join it (package shard), and its HTTP API is a handler on it (package manage).
//
// # Order and blocking
//
// One goroutine owns the membership. Callbacks of [Node.Subscribe] and
// [Node.Events] run on it, so they see every change in order and must not
// block. Frames between two nodes keep their order within one lane. Nothing
// that is sent waits, unless it is asked to by TellWait: a full queue is an error
// to the sender.
//
// # Ends
//
// A node ends by leaving, by being downed, or by being killed. In each case
// what components have on it stops first, then its actors, and its links close
// last; [Node.Done] is closed when all is quiet and no goroutine of the node runs.
// Each phase has a limit; what hangs beyond it is named by [Node.Err] and left behind.
package troupe
