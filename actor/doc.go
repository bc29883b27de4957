// Package actor runs local actors: typed values that own their state and handle one message at a time.
//
// # Order
//
// Messages of one sender to one actor are handled in the order in which they were told. What an actor asked for
// itself (timer ticks, death notices, results of [Ctx.Go]) arrives as its own messages through the same queue:
// a death notice comes behind everything that the dead actor sent. Unstashed messages come before the queue.
//
// # Blocking
//
// Tell never waits: a mailbox is bounded, and a full or closed one refuses with an error that means "certainly not
// accepted"; who would rather wait for room, in turn and until its context ends, uses TellWait. A behavior should not
// block, but if it does it holds one worker and nobody else: while work is queued there is always one more worker on its
// way to it. After 64 messages other actors have their turn. An actor's own timers, notices and results are never
// refused, because each of them was asked for by the actor and each timer has at most one tick in the queue.
//
// # Concurrency
//
// Start, behavior and cleanup functions of one actor never run at the same time, and each sees what the former wrote.
// Of a [Ctx] only the methods of context.Context may be used by other goroutines. Ref, Reply, Cell and System are safe
// everywhere. An idle actor has no goroutine, no timer and no mailbox memory.
//
// # Life
//
// An actor ends when it stops itself, when it fails and its supervision does not restart it, when its parent ends, or
// when its owner says so. Then, in this order: its context is done and its timers stop; its children end; the functions
// that it gave to [Ctx.Go] have returned; its cleanup functions run, last first; what was not handled becomes dead letters (or
// goes to the cell's owner), and each request among it fails at once with [ErrNoReply]; its name is free; watchers are told.
// A restart goes the same way up to the cleanup, then runs Start again: same Ref, same mailbox.
package actor
