package store_test

import (
	"context"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/store"
)

func ExampleLease() {
	database := store.NewMemory() // or sqlite.Open, postgres.Open
	lease, err := store.NewLease(database, store.LeaseConfig{
		Name:  "nightly report",
		Owner: "10.0.0.1:2551",
		Lost:  func(err error) { fmt.Println("stop at once:", err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	token, err := lease.Acquire(ctx)
	if err != nil {
		fmt.Println("not our turn:", err)
		return
	}
	if _, held := lease.Held(); held { // before each step
		fmt.Println("reporting under token", token)
	}
	if err := lease.Close(ctx); err != nil {
		fmt.Println(err)
	}
	// Output: reporting under token 1
}
