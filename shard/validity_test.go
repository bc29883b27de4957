package shard

import (
	"testing"
	"testing/synctest"
	"time"
)

// Whoever waits for the end of a hold goes on when the seat is kept after all, and
// is sent away when it is lost, or the node ends.
func TestValidityLetsThroughWhenTheSeatIsKept(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(v *validity)
		want bool
	}{
		{"kept", func(v *validity) { v.extend(time.Now().Add(time.Second)) }, true},
		{"lost", func(v *validity) { v.extend(time.Time{}) }, false},
		{"node ends", (*validity).end, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			v := newValidity()
			if !v.over() || v.await() {
				t.Error("a node may act that has never had a seat")
			}
			v.extend(time.Now().Add(time.Second))
			if v.over() || !v.await() {
				t.Error("a node may not act that has just got a seat")
			}
			time.Sleep(time.Second)
			if !v.over() {
				t.Error("a node may act whose seat is over")
			}
			got := make(chan bool, 1)
			go func() { got <- v.await() }()
			synctest.Wait()
			if len(got) > 0 {
				t.Fatalf("%s: nothing had happened yet, and it has answered %v", tt.name, <-got)
			}
			tt.then(v)
			if let := <-got; let != tt.want {
				t.Errorf("%s: let through is %v, want %v", tt.name, let, tt.want)
			}
		})
	}
}
