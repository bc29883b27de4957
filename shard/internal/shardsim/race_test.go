//go:build race

package shardsim

// slowdown divides the seeds when the race detector, which has little to find
// on one goroutine, makes each cost ten times as much.
const slowdown = 10
