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

func ExampleState() {
	database, ctx := store.NewMemory(), context.Background()
	chat := store.Shard{Cluster: "dadbot", Type: "Dad", ID: "320"}
	owner := store.Tenure{Shard: chat, Epoch: store.Epoch{Term: 3, N: 17}}
	if err := database.Claim(ctx, owner); err != nil { // before it reads
		fmt.Println(err)
		return
	}
	told, err := database.Get(ctx, chat, "told")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = database.Put(ctx, owner, "told", told.Revision, []byte("the one about the horse"))
	fmt.Println("told:", err)

	heir := store.Tenure{Shard: chat, Epoch: store.Epoch{Term: 4, N: 1}}
	fmt.Println("claimed:", database.Claim(ctx, heir))
	_, err = database.Put(ctx, owner, "told", told.Revision+1, []byte("the one about the cow"))
	fmt.Println(err)
	// Output:
	// told: <nil>
	// claimed: <nil>
	// store: stale epoch: shard dadbot/Dad/320 is owned under epoch 4.1 now, not 3.17: the owner of then must stop
}
