package manage

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

func TestChecksRunTogetherAndAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var runs atomic.Int32
		h := served(threeNodes(), nil, Options{Ready: []Check{
			{"quick", func(context.Context) error { return nil }},
			{"slow", func(context.Context) error { time.Sleep(900 * time.Millisecond); return nil }},
			{"database", func(context.Context) error { return errors.New("no route") }},
			{"hangs", func(context.Context) error { runs.Add(1); <-release; return nil }}, // minds no context
			{"patient", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
			{"broken", func(context.Context) error { panic("nil map") }},
		}})
		began := time.Now()
		w := do(h, "GET", "/ready")
		if d := time.Since(began); d != time.Second || w.Code != 500 {
			t.Errorf("/ready took %v and is %d, want 1s and 500", d, w.Code)
		}
		lines := strings.Split(w.Body.String(), "\n")
		for i, want := range []string{
			"Health Check Failed: Check [database]: no route",
			"Health Check Failed: Check [hangs]: no answer within 1s",
			"Health Check Failed: Check [patient]: ",
			"Health Check Failed: Check [broken]: panic: nil map",
		} {
			if len(lines) != 4 || !strings.HasPrefix(lines[i], want) {
				t.Errorf("/ready says %q, want line %d to be %q", lines, i, want)
			}
		}
		for range 10 {
			do(h, "GET", "/ready")
		}
		if got := runs.Load(); got != 1 {
			t.Errorf("a check that hangs was started %d times, want 1", got)
		}
		if w := do(h, "GET", "/alive"); w.Code != 200 {
			t.Errorf("/alive = %d, want 200: the checks are those of /ready", w.Code)
		}
		close(release)
		synctest.Wait()
		if w := do(h, "GET", "/ready"); runs.Load() != 2 || strings.Contains(w.Body.String(), "hangs") {
			t.Errorf("once it has returned the check was started %d times, and /ready says %s", runs.Load(), w.Body)
		}
	})
}

func TestStartupHoldsUntilTheNodeWasReadyAndThenForGood(t *testing.T) {
	p := probe(time.Minute)
	want := func(when string, status int) {
		t.Helper()
		if w := do(p, "GET", "/startup"); w.Code != status {
			t.Errorf("/startup %s = %d %s, want %d", when, w.Code, w.Body, status)
		}
	}
	p.node.view.Members[0].Status = member.Joining
	want("while joining", 500)
	p.node.view.Members[0].Status = member.Up
	want("before registration", 500)
	p.region.registered = true
	want("once registered", 200)
	p.region.registered = false
	p.node.view.Members[0].Status = member.Leaving
	want("while leaving", 200)
	close(p.node.done)
	want("after the end", 500)

	p = probe(time.Minute)
	p.node.view.Members[0].Status = member.Leaving
	want("when first asked while leaving", 200)
}
