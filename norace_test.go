//go:build !race

package troupe_test

const interleavings = 200
