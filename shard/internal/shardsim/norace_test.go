//go:build !race

package shardsim

const slowdown = 1
