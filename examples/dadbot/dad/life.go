package dad

import (
	"context"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/examples/dadbot/audit"
)

// Config is how the Dads of one node are; the zero value is a usual Dad.
type Config struct {
	Node   string                      // the name of the node, for what he tells
	Quiet  time.Duration               // how long a chat is quiet before he thinks; default 2.5 s
	Think  time.Duration               // how long he thinks; default 2 s
	Pun    func(n int) (string, error) // the n-th pun, from 0; default the list of Pun
	Record audit.Recorder              // told of each fact; default nobody
}

// The defaults of Config.
const (
	DefaultQuiet = 2500 * time.Millisecond
	DefaultThink = 2 * time.Second
)

func (d Config) withDefaults() Config {
	if d.Quiet == 0 {
		d.Quiet = DefaultQuiet
	}
	if d.Think == 0 {
		d.Think = DefaultThink
	}
	if d.Pun == nil {
		d.Pun = func(n int) (string, error) { return Pun(n), nil }
	}
	if d.Record == nil {
		d.Record = audit.Nothing
	}
	return d
}

// life is one Dad from his entrance to his end: his mind, and what he does
// with it. How he waits is up to his style.
type life struct {
	Config
	mind
	c *actor.Ctx[Msg]
}

// begin lets a Dad enter the chat that he is named after.
func begin(c *actor.Ctx[Msg], d Config) *life {
	l := &life{Config: d.withDefaults(), mind: mind{node: d.Node}, c: c}
	l.record(audit.Event{Event: audit.Entered})
	c.Cleanup(l.end)
	return l
}

func (l *life) record(e audit.Event) {
	e.Chat = l.c.Name()
	l.Record(e)
}

// listen hears s; false for a repeat.
func (l *life) listen(s Said) bool {
	l.record(audit.Event{Event: audit.Heard, ID: s.ID})
	return l.hear(s)
}

// answer tells what he remembers.
func (l *life) answer(m Recall) error { return m.Reply.Send(l.c, l.memory()) }

// quip tells the first pun that he has not told in this life about the
// subject. Without one the subject joins the next batch: a Dad goes on.
func (l *life) quip() {
	pun, err := l.Pun(l.told)
	if err != nil {
		l.c.Log().Warn("no pun came to Dad's mind", "chat", l.c.Name(), "messages", len(l.subject), "error", err)
		l.giveUp()
		return
	}
	joke := l.joke(time.Now(), pun)
	l.record(audit.Event{Event: audit.Joke, IDs: joke.Batch, Text: joke.Text})
}

// end hands what is not joked about to his successor, by telling it to his own
// ref again: it leads to whoever is the Dad of the chat next. After a failure
// he hands over nothing, because it may have been the reason.
func (l *life) end() {
	if l.c.Stopping() != actor.Failed {
		l.handOver()
	}
	l.record(audit.Event{Event: audit.Stopped})
}

func (l *life) handOver() {
	ctx := context.WithoutCancel(l.c) // which is done by now
	lost := 0
	var cause error
	for _, s := range l.unanswered() {
		if err := l.c.Self().Tell(ctx, s); err != nil {
			lost++
			cause = err
		}
	}
	if lost > 0 {
		l.c.Log().Warn("Dad's successor does not hear of all messages", "chat", l.c.Name(), "lost", lost, "error", cause)
	}
}
