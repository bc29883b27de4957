package protocol

// A Peer is what the nodes of a ring say to each other: each speaks for the shards
// that it has itself, so a tenure is always one of the sender's.
//
//sumtype:decl
type Peer interface {
	Message
	toPeer()
}

type (
	// Look: the table of seats and locks has changed. Read it.
	Look struct{}

	// WhereIs: messages wait here for these, and you have them or should. Repeated
	// until Housed or Elsewhere comes.
	WhereIs struct{ Shards []string }

	// Housed: these live here. Answers WhereIs; also ends a hand-over for everybody
	// who was told of its begin. Next names the newest hand-over that was begun by
	// then, so that a Housed which was overtaken by the next one is told apart.
	Housed struct{ Shards []Leaving }

	// Elsewhere: these are not here, and will not be. Read the table again.
	Elsewhere struct{ Shards []string }

	// Handing: I am about to give these away: send nothing more, then put a marker
	// behind your last message to me. Repeated until acknowledged.
	Handing struct{ Moves []Leaving }

	// Handed acknowledges Handing.
	Handed struct{ Acks []Ack }

	// Released: these tenures of mine are over and their locks are free: take them.
	// What their entities left over waits for you at Previous, which is me, unless the
	// tenure was over before anything was hosted. Repeated until Housed comes.
	Released struct{ Shards []Assignment }
)

func (Look) toPeer()      {}
func (WhereIs) toPeer()   {}
func (Housed) toPeer()    {}
func (Elsewhere) toPeer() {}
func (Handing) toPeer()   {}
func (Handed) toPeer()    {}
func (Released) toPeer()  {}

// The forms of these on the wire.

func (Look) kind() kind      { return kindLook }
func (WhereIs) kind() kind   { return kindWhereIs }
func (Housed) kind() kind    { return kindHoused }
func (Elsewhere) kind() kind { return kindElsewhere }
func (Handing) kind() kind   { return kindHanding }
func (Handed) kind() kind    { return kindHanded }
func (Released) kind() kind  { return kindReleased }

func (m *Look) code(c *coder)      {}
func (m *WhereIs) code(c *coder)   { list(c, &m.Shards, (*coder).text) }
func (m *Housed) code(c *coder)    { list(c, &m.Shards, (*coder).leaving) }
func (m *Elsewhere) code(c *coder) { list(c, &m.Shards, (*coder).text) }
func (m *Handing) code(c *coder)   { list(c, &m.Moves, (*coder).leaving) }
func (m *Handed) code(c *coder)    { list(c, &m.Acks, (*coder).ack) }
func (m *Released) code(c *coder)  { list(c, &m.Shards, (*coder).assignment) }

// They join in an Outbox.

func (m WhereIs) join(next Message) (Message, bool) {
	n, ok := next.(WhereIs)
	return m, ok && extend(&m.Shards, n.Shards)
}

func (m Housed) join(next Message) (Message, bool) {
	n, ok := next.(Housed)
	return m, ok && extend(&m.Shards, n.Shards)
}

func (m Elsewhere) join(next Message) (Message, bool) {
	n, ok := next.(Elsewhere)
	return m, ok && extend(&m.Shards, n.Shards)
}

func (m Handing) join(next Message) (Message, bool) {
	n, ok := next.(Handing)
	return m, ok && extend(&m.Moves, n.Moves)
}

func (m Handed) join(next Message) (Message, bool) {
	n, ok := next.(Handed)
	return m, ok && extend(&m.Acks, n.Acks)
}

func (m Released) join(next Message) (Message, bool) {
	n, ok := next.(Released)
	return m, ok && extend(&m.Shards, n.Shards)
}
