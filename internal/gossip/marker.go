package gossip

// A Marker, embedded, makes a type of another package an [Event]: what stands
// around a machine tells its news in the same stream, and in one order.
type Marker struct{}

func (Marker) gossipEvent() {}
