package main

// What the tests replay is built by themselves, which the cache of test results does not
// see: by these imports it runs them again when nodes have changed.
import (
	_ "github.com/troupe-go/troupe/internal/stormtest"
	_ "github.com/troupe-go/troupe/shard"
)
