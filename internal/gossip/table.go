package gossip

// Reachability is what an observer says of a subject, or what a table says of
// it altogether.
type Reachability uint8

// The values, from harmless to final; they travel. Nobody takes Terminated back.
const (
	Reachable Reachability = iota
	Unreachable
	Terminated
)
