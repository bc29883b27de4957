// Package singleton keeps one instance of an actor in the whole cluster, or among the
// nodes with a role: a scheduler, a gatekeeper, the one who counts. It starts on
// the right node, is handed over when that node leaves, and starts anew when it
// crashed. Every node that joins has a [Singleton], whose Ref leads to the instance
// wherever it is. In a cluster of several data centers each has its own.
//
// # One at a time
//
// There are never two, under the assumptions of the split brain resolver: a node
// starts the instance only after all members that might run it have said that they
// do not, or were removed and have had time to stop it, without that time if their crash was
// confirmed. While one of them cannot be reached there may be none. With a lease
// ([Type.Lease]) the store has to agree, too, and the token guards what the instance writes.
//
// # Order and delivery
//
// What one sender tells arrives in order, also over a graceful hand-over, if the other
// nodes answer in time: it waits at most 5 s for each to say that it has stopped sending.
// Then nothing is lost or repeated either. What was on the way to a node that
// crashes, or whose lease was lost, is lost, or comes late.
//
// # Blocking
//
// Tell never blocks. While there is no instance messages wait on the node where they were
// told, at most [Type.Buffer] of them and for [Type.Patience]. What is dropped is a dead
// letter, counted by reason ([Singleton.Drops]), and its asker is told why.
//
// # Who owns what
//
// One goroutine for each singleton owns the pure core (singleton/internal/owner) and carries
// out what that decides. One lock guards the way of messages: under it they are queued,
// encoded and put into mailboxes and lanes, none of which waits. Codecs, the node's log handler and
// its DeadLetter function must not use the singleton.
package singleton
