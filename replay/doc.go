// Replay runs a package's tests so that one number decides all that may go one way
// or another: which case of a select that has several, in what order a map is walked,
// which of the timers of one instant fires first, and what is drawn at random. The
// same seed is the same run, to the byte; another seed is another one.
//
//	go run ./replay -seed 7 ./internal/stormtest -test.run TestStorm
//	go run ./replay -seeds 100 ./internal/stormtest -test.run TestStorm/3 -seed 3
//
// It builds the package's test binary for GOOS=wasip1, where a process has one
// thread, and runs it under wazero with a clock that moves by a millisecond each
// time that it is read, and with random bytes that come from the seed, which
// Go's runtime draws from, too. What follows the package is for the test binary. After
// the first of several seeds that fails it says how to run that one again.
//
// What it cannot do: tests that need sockets, signals or other processes; goroutines
// that become runnable one after the other take turns in that order, whatever the
// seed; and no thread interrupts another, so it finds no data races.
package main
