// Package shardsim runs the pure cores of sharding in a seeded world: many
// nodes, virtual time, a membership that each node hears of late, a network that
// delays, repeats and loses control messages, crashes, processes that stand still
// for longer than their seats last, and one of the two authorities: coordinators that
// do not know of each other, or a ring. Both have a store that is slow, away, cut off
// from single nodes, and carries out what nobody waits for any more. It has only tests.
//
// The shell of a node is played by a small fake that keeps messages as the real
// one does: buffers, carry, markers in the lane, and one entity for a shard. Where
// there is a store an entity writes each message there, under the fence.
//
// Long runs: go test ./shard/internal/shardsim -run TestSeeds -seeds 50000 -timeout 3h
package shardsim
