// Package storetest is the suite that every driver of package store passes, and
// a way to have a store misbehave.
//
// All of it runs in bubbles of testing/synctest, so that no test waits for a
// lease to run out. A driver whose database has a clock of its own is given one
// that follows the bubble's: see [Harness.Tick].
package storetest

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/store"
)

// A Harness is how the suite gets at an empty database.
type Harness struct {
	// Open connects to the database as one more process would. The suite closes
	// what it opened. Required.
	Open func(t testing.TB) store.Store
	// Tick sets the database's clock to a time of the bubble, which never goes
	// back in one test. Nil if the driver reads the bubble's clock by itself.
	Tick func(t testing.TB, now time.Time)
	// Restart kills the database and starts it again. Nil if there is nothing
	// that could be restarted without an end of its users.
	Restart func(t testing.TB)
}

// Run runs the suite. Each test calls empty, in its bubble, for a database in
// which nothing was stored yet.
func Run(t *testing.T, empty func(t testing.TB) Harness) {
	for _, test := range slices.Concat(ofLeases(), ofState(), ofLocks()) {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.run(t, newWorld(t, empty(t)))
			})
		})
	}
}

type test struct {
	name string
	run  func(*testing.T, *world)
}

func ofLeases() []test {
	return []test{
		{"Lease", testLease},
		{"LeaseRunsOut", testLeaseRunsOut},
		{"LeaseIsIdempotent", testLeaseIsIdempotent},
		{"LeaseOfManyAtOnce", testLeaseOfManyAtOnce},
		{"DWN05LongNamesStayDistinct", testLongNames},
		{"BadArguments", testBadArguments},
		{"EndedContext", testEndedContext},
		{"Restart", testRestart},

		{"Founding", testFounding},
		{"FoundingLapses", testFoundingLapses},
		{"FoundingOfManyAtOnce", testFoundingOfManyAtOnce},
		{"Runners", testRunners},
		{"MEM09DeadRowsAreFencedAndCleaned", testDeadRows},
		{"MEM10RemovedBehindItsBack", testRemovedBehindItsBack},

		{"HandleKeepsALease", testHandleKeepsALease},
		{"HandleGivesALeaseOn", testHandleGivesALeaseOn},
		{"DWN02AnswerLost", testAnswerLost},
		{"DWN02GrantedTooLate", testGrantedTooLate},
		{"DWN03PausedHolder", testPausedHolder},
		{"DWN06HungStore", testHungStore},
		{"HandleThroughARestart", testHandleThroughARestart},
		{"HandlesInAStorm", testStorm},
	}
}

func ofState() []test {
	return []test{
		{"State", testState},
		{"ValuesAreCopied", testValuesAreCopied},
		{"StateOfManyShards", testShards},
		{"Claims", testClaims},
		{"DWN03PausedWriter", testPausedWriter},
		{"StateIsIdempotent", testStateIsIdempotent},
		{"LateWrites", testLateWrites},
		{"StaleReads", testStaleReads},
		{"Pages", testPages},
		{"PagesOfLargeValues", testLargePages},
		{"StateOfManyAtOnce", testStateOfManyAtOnce},
		{"StateThroughARestart", testStateThroughARestart},
		{"StateAsInMemory", testAsInMemory},
		{"StateBadArguments", testStateBadArguments},
	}
}

func ofLocks() []test {
	return []test{
		{"Seats", testSeats},
		{"SeatRunsOut", testSeatRunsOut},
		{"Locks", testLocks},
		{"DWN04FreeAtOnce", testFreeAtOnce},
		{"EpochsGrow", testEpochsGrow},
		{"Terms", testTerms},
		{"LockOutdoneByAClaim", testOutdone},
		{"DWN02TakeWithoutAnswer", testTakeWithoutAnswer},
		{"LateTakeAndGive", testLateLocks},
		{"LocksOfManyAtOnce", testLocksOfManyAtOnce},
		{"LocksByTheThousand", testManyLocks},
		{"LocksAsInMemory", testLocksAsInMemory},
		{"LocksThroughARestart", testLocksThroughARestart},
		{"LocksBadArguments", testLocksBadArguments},
		{"SeatsInAStorm", testSeatsInAStorm},
	}
}

// A world is one test with its database, in a bubble.
type world struct {
	Harness
	t *testing.T
}

func newWorld(t *testing.T, h Harness) *world {
	w := &world{Harness: h, t: t}
	w.pass(0)
	return w
}

// open gives one more way to the database.
func (w *world) open() store.Store {
	w.t.Helper()
	s := w.Open(w.t)
	w.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			w.t.Errorf("Close = %v", err)
		}
	})
	return s
}

// pass lets time go by, for the database and the process alike, in steps that
// are small beside a ttl.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	if w.Tick == nil {
		time.Sleep(d)
		return
	}
	for end := time.Now().Add(d); ; time.Sleep(min(time.Until(end), ttl/10)) {
		w.Tick(w.t, time.Now())
		synctest.Wait() // nobody works at a time that is over
		if !time.Now().Before(end) {
			return
		}
	}
}

// ttl is that of the leases and rows of the tests.
const ttl = 10 * time.Second

// wait bounds calls that are expected to be answered.
func wait(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
