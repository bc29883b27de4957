// Package shardsim runs the pure cores of sharding in a seeded world: many
// nodes, virtual time, a membership that each node hears of late, a network that
// delays, repeats and loses control messages, crashes, and coordinators that do
// not know of each other. It has only tests.
//
// The shell of a node is played by a small fake that keeps messages as the real
// one does: buffers, carry, markers in the lane, and one entity for a shard.
package shardsim
