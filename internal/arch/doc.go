// Package arch holds the rules of the house as tests: which package may import
// which, what a pure package may not do, how packages are named and described.
// It has no code of its own.
package arch
