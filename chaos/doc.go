// Package chaos rehearses what networks do to clusters with real processes: each node runs
// in a network namespace of its own, behind a router that delays and loses packets, and
// filters that cut and reset what they are told to.
//
// A rehearsal passes if those survive who must, all others exit with an error, the
// survivors answer for every entity, and at no moment two nodes did so for the same one.
// Package record tells from the processes' own records whether that was so.
//
// It needs Linux, root, ip and nft, and is built with the tag chaos only: see
// `make chaos` and docs/chaos.md.
package chaos
