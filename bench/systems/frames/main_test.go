package main

import (
	"testing"

	"github.com/troupe-go/troupe/bench/driver/drivertest"
)

func TestMain(m *testing.M) { drivertest.Main(m, main) }

func TestWorks(t *testing.T) { drivertest.Works(t) }
