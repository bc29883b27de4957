//go:build race

package troupe_test

// The race detector makes whole nodes ten times slower, and sees in a few
// interleavings what it sees in many.
const interleavings = 15
