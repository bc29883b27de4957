package main

import (
	"io"
	"strings"
	"testing"
)

func TestBadCommandLinesAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		"-rounds 0":    "positive",
		"-procs 0":     "positive",
		"-within -1s":  "positive",
		"-works (":     "-works: error parsing regexp",
		"-systems (":   "-systems: error parsing regexp",
		"-color":       "not defined",
		"tell-1-1":     "nothing but flags",
		"-rounds five": "invalid value",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parse(%q): error = %v, want one with %q", args, err, want)
		}
	}
}

func TestDefaultsMeasureAll(t *testing.T) {
	t.Setenv("BENCH_EXTRA", "elsewhere")
	o, err := parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if o.rounds < 5 || !o.works.MatchString("tell-1-1") || !o.systems.MatchString("troupe") || o.extra != "elsewhere" {
		t.Errorf("options = %+v, want five rounds of everything, and the systems of $BENCH_EXTRA", o)
	}
}
