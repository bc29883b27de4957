package dad

import (
	"context"
	"fmt"
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

	// Notebook gives the one of a Dad, in which his predecessors wrote. Default: he has none.
	Notebook func(c *actor.Ctx[Msg]) (Notebook, error)
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
	c     *actor.Ctx[Msg]
	notes notes

	aside int // messages that he has set aside
	back  int // those of them that he is handed again next

	lament string // why no pun came to his mind, as the log has it already
}

// begin lets a Dad enter the chat that he is named after.
func begin(c *actor.Ctx[Msg], d Config) (*life, error) {
	l := &life{Config: d.withDefaults(), mind: mind{node: d.Node}, c: c}
	if l.Notebook != nil {
		book, err := l.Notebook(c)
		if err != nil {
			return nil, fmt.Errorf("notebook of Dad for %s: %w", c.Name(), err)
		}
		l.notes.book = book
	}
	l.record(audit.Event{Event: audit.Entered})
	c.Cleanup(l.end)
	return l, nil
}

func (l *life) record(e audit.Event) {
	e.Chat = l.c.Name()
	l.Record(e)
}

// listen hears s; false for a repeat. What he has not joked about he sets aside.
func (l *life) listen(s Said) (news bool) {
	if l.back > 0 { // set aside before, and not heard now
		l.back--
	} else {
		l.record(audit.Event{Event: audit.Heard, ID: s.ID})
		news = l.hear(s)
	}
	if l.open[s.ID] && l.c.Stash() == nil { // with a full stash he has it in mind only
		l.aside++
	}
	return news
}

// letGo is handed again all that he has set aside, to keep what is still open.
func (l *life) letGo() {
	l.back, l.aside = l.aside, 0
	l.c.Unstash()
}

// answer tells what he remembers.
func (l *life) answer(m Recall) error { return m.Reply.Send(l.c, l.memory()) }

// quip tells the first pun that the chat has not heard about the subject. Without one,
// or without his notebook, the subject joins the next batch: a Dad goes on.
func (l *life) quip() {
	pun, err := l.prepare()
	if err != nil {
		if why := err.Error(); why != l.lament { // he tries again after each Quiet and Think
			l.c.Log().Warn("no pun came to Dad's mind", "chat", l.c.Name(), "messages", len(l.subject), "error", err)
			l.lament = why
		}
		l.giveUp()
		return
	}
	l.lament = ""
	joke := l.joke(time.Now(), pun)
	l.record(audit.Event{Event: audit.Joke, IDs: joke.Batch, Text: joke.Text})
	l.letGo()
}

// prepare finds a pun, and writes down that he tells it: whoever comes next must not,
// and who finds that another one has written meanwhile tells nothing.
func (l *life) prepare() (pun string, err error) {
	if err := l.notes.open(l.c, &l.mind); err != nil {
		return "", err
	}
	if pun, err = l.Pun(l.told); err != nil {
		return "", err
	}
	return pun, l.notes.write(l.c, Notes{Puns: l.told + 1})
}

// end tells his own ref what his successor cannot read anywhere: it leads to whoever is
// the Dad of the chat next, who hears it first, and then what is set aside. One who
// failed may be the reason for what he knows; and one who goes to rest would only wake
// himself.
func (l *life) end() {
	if l.told > 0 && l.notes.book == nil && l.c.Stopping() == actor.Requested {
		ctx := context.WithoutCancel(l.c) // which is done by now
		if err := l.c.Self().Tell(ctx, Told{l.told}); err != nil {
			l.c.Log().Warn("Dad's successor may repeat him", "chat", l.c.Name(), "error", err)
		}
	}
	l.record(audit.Event{Event: audit.Stopped})
}
