package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

// The fault in testdata/first shows in one schedule of two.
const enough = 40

// A fault that depends on the schedule is found by some seed, and found again by
// the same seed, whatever ran in between.
func TestFaultOfScheduleIsFoundAndReplayed(t *testing.T) {
	p := built(t, "./testdata/first")
	var passed, failed uint64
	for seed := uint64(1); seed <= enough && (passed == 0 || failed == 0); seed++ {
		switch r, said := ran(t, p, seed); {
		case r.code == 0:
			passed = seed
		case strings.Contains(said, "the writer came first"):
			failed = seed
		default:
			t.Fatalf("seed %d: exit %d: %s", seed, r.code, said)
		}
	}
	if passed == 0 || failed == 0 {
		t.Fatalf("%d seeds: last to pass %d, last to fail %d; want one of each", enough, passed, failed)
	}
	for _, seed := range []uint64{failed, passed, failed} {
		sameAgain(t, p, seed)
	}
}

// Whole nodes in a storm go exactly the same way again by the same seed, with
// plain links and with TLS; and another way by another.
func TestStormOfWholeNodesIsReplayed(t *testing.T) {
	if underRace {
		t.Skip("nothing of ours runs side by side here, and the compiler of all that is slow under the detector")
	}
	p := built(t, "../internal/stormtest")
	for _, storm := range []string{"1", "3"} {
		args := []string{"-test.run=TestStormOfWholeNodes", "-test.v", "-seed=" + storm}
		a := sameAgain(t, p, 7, args...)
		b, said := ran(t, p, 8, args...)
		if a.trace == b.trace {
			t.Errorf("storm %s: seeds 7 and 8 have one trace, %s", storm, a.trace)
		}
		if a.code != 0 || b.code != 0 {
			t.Errorf("storm %s: exit %d by seed 7, and %d by seed 8, which said:\n%s", storm, a.code, b.code, said)
		}
	}
}

// A run whose time is over ends, and says how to give it more.
func TestRunHasALimit(t *testing.T) {
	p := built(t, "./testdata/first")
	_, err := p.run(t.Context(), run{seed: 1, within: time.Nanosecond, out: t.Output()})
	if err == nil || !strings.Contains(err.Error(), "-within") {
		t.Errorf("got %v, want an error that names -within", err)
	}
}

func TestCommandLine(t *testing.T) {
	o, err := parse([]string{"-seed", "7", "-seeds", "3", "./some", "-test.run", "TestIt"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := o.again(9), "go run ./replay -seed 9 ./some -test.run TestIt"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := parse([]string{"-seed", "7"}); err == nil || !strings.Contains(err.Error(), "package") {
		t.Errorf("no package: %v", err)
	}
}

// An order of several seeds stops at the first that fails, tells all that it
// said, and how to run it again.
func TestStopsAtFailure(t *testing.T) {
	var said strings.Builder
	err := replay(t.Context(), []string{"-seeds", "40", "./testdata/first"}, &said)
	if err == nil || strings.Count(said.String(), "exit 1") != 1 {
		t.Errorf("got %v after\n%s", err, &said)
	}
	if want := "again: go run ./replay -seed "; !strings.Contains(said.String(), want) || !strings.Contains(said.String(), "came first") {
		t.Errorf("want what the test said, and %q:\n%s", want, &said)
	}
}

// A package that is not there is named.
func TestNoSuchPackage(t *testing.T) {
	_, err := build(t.Context(), "./testdata/nowhere")
	if err == nil || !strings.Contains(err.Error(), "testdata/nowhere") {
		t.Errorf("got %v", err)
	}
}

func built(t *testing.T, pkg string) *program {
	t.Helper()
	p, err := build(t.Context(), pkg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.close(context.Background()) })
	return p
}

func ran(t *testing.T, p *program, seed uint64, args ...string) (result, string) {
	t.Helper()
	var said strings.Builder
	r, err := p.run(t.Context(), run{seed: seed, args: args, within: 5 * time.Minute, out: &said})
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, &said)
	}
	return r, said.String()
}

// sameAgain runs a seed twice, and wants the same.
func sameAgain(t *testing.T, p *program, seed uint64, args ...string) result {
	t.Helper()
	a, first := ran(t, p, seed, args...)
	b, second := ran(t, p, seed, args...)
	if a != b || first != second {
		t.Errorf("seed %d: first %+v:\n%s\nthen %+v:\n%s", seed, a, first, b, second)
	}
	return a
}
