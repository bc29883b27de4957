package protocol

import "github.com/troupe-go/troupe/internal/member"

// What a shard waits for.
const (
	WaitHome     member.WaitKind = "home"      // for a node that hosts it, or for this node to hear of one
	WaitHandOver member.WaitKind = "hand-over" // for a step of its way from one node to the next
	WaitEnd      member.WaitKind = "end"       // for its entities here to end, so that it can move
	WaitDecider  member.WaitKind = "decider"   // of a whole type: for somebody who decides where its shards live
)

// Waiting is what a shard waits for; without one, the whole type.
type Waiting struct {
	Shard string
	Wait  member.Wait
}

// Holdups says the same of several nodes.
func Holdups(ids []member.ID, why string) []member.Holdup {
	on := make([]member.Holdup, len(ids))
	for i, id := range ids {
		on[i] = member.Holdup{Node: id, Why: why}
	}
	return on
}
