// Package region decides one node's part in an entity type. SKELETON: the contract between core and shell.
package region

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Core is the pure machine: Step(now, input) output. One per node and type.
type Core struct{}

type Input interface{ input() }

type (
	// ViewChanged: the membership changed.
	ViewChanged struct{ View *member.View }
	// Received: a control message of the protocol came.
	Received struct {
		From member.ID
		Msg  protocol.Message
	}
	// Wanted: the shell buffered the first message of a shard that has no home here.
	Wanted struct{ Shard string }
	// Marked: the in-lane marker of a region arrived behind its last message (hand-over, step 3).
	Marked struct {
		From  member.ID
		Shard string
		Epoch protocol.Epoch
	}
	// CarryDone: the in-lane marker of the previous host arrived behind what it carried over (step 7).
	CarryDone struct {
		From  member.ID
		Shard string
		Epoch protocol.Epoch
	}
	// StaleRoute: a routed message came for a shard that is not hosted here (or with another epoch).
	StaleRoute struct {
		From  member.ID
		Shard string
		Epoch protocol.Epoch
	}
	// Drained: all entities of a shard that was told to Drain or Kill have ended.
	Drained struct {
		Shard string
		Epoch protocol.Epoch
	}
	// Emptied: carry and buffer of a shard are empty and written to the link (or delivered locally).
	Emptied struct{ Shard string }
	// Leave: this node leaves gracefully: all that it hosts must move.
	Leave struct{}
	// Tick: the time of Wake has come (spurious ones are harmless).
	Tick struct{}
)

type Output struct {
	Send []Packet
	Do   []Action
	Wake time.Time
	Left bool // after Leave: nothing is hosted, carried, owed or buffered any more
}

type Packet struct {
	To  member.ID
	Msg protocol.Message
}

// Action is what the shell does, in order.
type Action interface{ action() }

type (
	// Route: send directly to Home from now on: first carry, then buffer, in order; then, if Mark, the CarryDone marker in the same lane.
	Route struct {
		Shard string
		Home  member.ID
		Epoch protocol.Epoch
		Mark  bool
	}
	// Host: host the shard here. With Await, messages other than those from Await are held until Open.
	// If there is carry or buffer here, it goes first.
	Host struct {
		Shard string
		Epoch protocol.Epoch
		Await member.ID
	}
	// Open: what was held is delivered, in order; then directly.
	Open struct{ Shard string }
	// Buffer: stop sending directly, buffer from now on; then send the marker behind the last message, in the
	// shard's lane, to MarkTo (none if zero; if MarkTo is this node the shell steps Marked{self} itself).
	// If the shard is hosted here it goes on handling what arrives from other nodes.
	Buffer struct {
		Shard  string
		MarkTo member.ID
		Epoch  protocol.Epoch
	}
	// Drain: close all entities, let them work off what they have, stop them gracefully, then step Drained.
	// What they left over and what they told their own shard while stopping becomes carry. After Deadline: Kill.
	Drain struct {
		Shard    string
		Epoch    protocol.Epoch
		Deadline time.Time
	}
	// Kill: this node may not own the shard any more: stop its entities at once; then Drained.
	Kill struct{ Shard string }
)
