package singleton

import "github.com/troupe-go/troupe/actor"

const (
	// ErrJoined: the singleton was joined before on this node.
	ErrJoined = actor.Error("singleton: already joined on this node")
	// ErrEnded: this node has ended, so it takes no messages any more.
	ErrEnded = actor.Error("singleton: this node has ended")
	// ErrNoOwner: a message waited for [Type.Patience] and there was still no instance,
	// or none that took it. It was not handled: sending it again is safe. See [Singleton.Why].
	ErrNoOwner = actor.Error("singleton: no instance took the message in time")
	// ErrFrame: what arrived is not what this version sends.
	ErrFrame = actor.Error("singleton: frame not understood")
)
