// Package dad is DadBot himself: every chat has its own Dad, who waits until
// the chat has been quiet, thinks, and then makes one joke about all that was
// said. He never repeats one in a chat, as long as somebody remembers what was told.
//
// He is written twice with the same protocol: as a state machine whose states
// are methods (states.go), and as a loop that simply waits (loop.go). Both
// share what he knows (mind.go) and what he does (life.go), and both pass the
// same tests, as plain local actors.
//
// # What he promises
//
// Every message that he heard is in exactly one joke of his, or left to his
// successor: he sets it aside until he has joked about it, so that it counts as
// handled only then, and who sent it from another node sends it again when his
// node crashes. A node that leaves waits, while it can, for the jokes about what
// was said through it.
//
// The messages of a joke are in the order of the times at which they were said,
// so that the order of each edge is kept although a successor gets them from his
// predecessor and from the edges at once. The same id heard twice in one life is
// joked about once.
//
// How many puns he has told goes on to a successor as well, so that the chat hears
// no pun twice. It is forgotten when he goes to rest, or when his node crashes,
// unless he has a [Notebook]. With one, a Dad who was replaced without noticing
// tells nothing either. A crash right behind a joke has a successor tell another one
// about the same messages: at least once is not exactly once.
//
// His memory is bounded ([Memory]), and so is a batch ([MaxBatch]).
package dad

import (
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/wire"
)

// A Msg is what a Dad understands.
//
//sumtype:decl
type Msg interface{ dadMsg() }

type (
	// Said is a message of the chat.
	Said struct {
		ID   string    `json:"id"`
		From string    `json:"from"`
		Text string    `json:"text"`
		Via  string    `json:"via"` // the node that took it
		At   time.Time `json:"at"`  // when that node took it; strictly increasing there
	}
	// Recall asks for what he remembers.
	Recall struct {
		Reply actor.Reply[Memory] `json:"-"`
	}

	// Told says how many puns the chat has heard from a predecessor.
	Told struct {
		Puns int `json:"puns"`
	}

	quiet   struct{} // nobody has said anything for a while
	thought struct{} // he has thought long enough
)

func (Said) dadMsg()    {}
func (Recall) dadMsg()  {}
func (Told) dadMsg()    {}
func (quiet) dadMsg()   {}
func (thought) dadMsg() {}

// WithReply makes Recall a request that is answered with a [Memory].
func (m Recall) WithReply(r actor.Reply[Memory]) Msg { m.Reply = r; return m }

// Protocol names the messages that travel between nodes.
var Protocol = wire.MustProtocol[Msg](
	wire.Message("dad.said", Said{}),
	wire.Request[Msg, Memory]("dad.recall", Recall{}),
	wire.Message("dad.told", Told{}),
)

// Memory is what a Dad remembers of this life: the last messages and jokes, at
// most MaxLines and MaxMemory bytes of them.
type Memory struct {
	Node  string `json:"node"` // where he lives
	Lines []Line `json:"lines"`
}

// What is reserved for jokes, so that nobody's message can be taken for one.
const (
	Bot    = "DadBot" // who a joke is from
	JokeID = "joke:"  // how its id begins; the id of the first message follows
)

// Line is one message or joke, in the order in which he heard or told them.
type Line struct {
	At    time.Time `json:"at"`
	ID    string    `json:"id"`
	From  string    `json:"from"`
	Text  string    `json:"text"`
	Via   string    `json:"via"`
	Batch []string  `json:"batch,omitempty"` // of a joke: the ids that it is about
}
