package store_test

import (
	"testing"

	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/store/storetest"
)

func BenchmarkPut(b *testing.B) { storetest.BenchmarkPut(b, store.NewMemory()) }

func BenchmarkLocks(b *testing.B) { storetest.BenchmarkLocks(b, store.NewMemory()) }

func TestMemory(t *testing.T) {
	storetest.Run(t, func(testing.TB) storetest.Harness {
		m := store.NewMemory()
		return storetest.Harness{Open: func(testing.TB) store.Store { return m }}
	})
}
