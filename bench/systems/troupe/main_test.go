package main

import (
	"testing"

	"github.com/troupe-go/troupe/bench/driver/drivertest"
	"github.com/troupe-go/troupe/bench/work"
)

func TestMain(m *testing.M) { drivertest.Main(m, main) }

func TestWorks(t *testing.T) {
	if names := drivertest.Works(t); len(names) != len(work.All()) {
		t.Errorf("Troupe does %v: want all works", names)
	}
}
