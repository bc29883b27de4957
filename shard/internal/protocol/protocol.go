// Package protocol has the messages between regions and coordinator. SKELETON.
package protocol

// Epoch numbers the ownerships of one shard: (Term of the coordinator, N), totally ordered.
type Epoch struct {
	Term, N uint64
}

// Message is one control message.
type Message interface{ message() }
