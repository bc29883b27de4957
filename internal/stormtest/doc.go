// Package stormtest holds tests of whole nodes as users put them together, with
// the real codec and links, in storms of partitions, resets, refusals, pauses and crashes,
// and the [Weather] that does it, for others' tests too. They run in the virtual
// time of testing/synctest, which also sees every goroutine that is left behind.
// The faults come from a seed; how goroutines take turns does not, so a seed that
// fails need not fail again. The module replay runs them so that it does.
package stormtest
