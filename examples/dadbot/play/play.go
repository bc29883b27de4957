// Package play is the scripted run of DadBot: three nodes in one process, over
// real sockets, on which two chats live, one node leaves, and the story goes on
// elsewhere.
//
// It waits for what must have happened before a scene goes on, so the lines
// come in the same order each time, but for jokes of different chats.
package play

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/examples/dadbot/audit"
	"github.com/troupe-go/troupe/examples/dadbot/dad"
	"github.com/troupe-go/troupe/examples/dadbot/house"
)

// within bounds the whole play, which takes about 15 s.
const within = time.Minute

// The chats.
const (
	engineering = "#engineering"
	random      = "#random"
)

// Run plays, and leaves no node behind. When ctx ends first the nodes do not take
// leave of each other: nobody is to be left who would miss them.
func Run(ctx context.Context, p *Paper, style dad.Style) error {
	playing, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	d := &director{
		paper: p, style: style,
		facts: make(chan audit.Event, 256), gone: make(chan struct{}),
		told: make(map[string]bool), jokes: make(map[string]int), homes: make(map[string]string),
	}
	err := d.play(playing)
	if err != nil && ctx.Err() != nil {
		d.breakOff()
		return errors.Join(fmt.Errorf("the play was interrupted: %w", context.Cause(ctx)), p.err)
	}
	return errors.Join(err, d.closeDown(), p.err)
}

// director runs the play and writes down what he sees. Only facts and gone are
// shared with the nodes.
type director struct {
	paper *Paper
	style dad.Style
	seeds []string
	stage []*house.House

	facts chan audit.Event
	gone  chan struct{} // closed when he does not look any more

	homes map[string]string // chat → node of its Dad
	jokes map[string]int    // chat → how many
	told  map[string]bool   // chat and text
}

func (d *director) play(ctx context.Context) error {
	for _, act := range []func(context.Context) error{d.enter, d.chat, d.move, d.goOn} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// enter opens the nodes. #engineering is called while node-0 is alone, so its
// Dad lives there; #random comes later, where fewer shards are.
func (d *director) enter(ctx context.Context) error {
	if err := d.open(ctx); err != nil {
		return err
	}
	if _, err := actor.Ask(ctx, d.stage[0].Ref(engineering), dad.Recall{}); err != nil {
		return err
	}
	if err := d.until(ctx, "the Dad of "+engineering, func() bool { return d.homes[engineering] != "" }); err != nil {
		return err
	}
	return errors.Join(d.open(ctx), d.open(ctx))
}

// chat is an ordinary day.
func (d *director) chat(ctx context.Context) error {
	return d.say(ctx,
		line{1, engineering, "Ann", "Has anybody seen my packets?"},
		line{2, engineering, "Bob", "I sent them an hour ago."},
		line{0, random, "Cleo", "Is there any cake left?"},
	)
}

// move lets the node leave on which the Dad of #engineering lives, with a
// message on his mind that his successor must hear of.
func (d *director) move(ctx context.Context) error {
	if err := d.until(ctx, "two jokes", func() bool { return d.jokes[engineering] == 1 && d.jokes[random] == 1 }); err != nil {
		return err
	}
	home := d.homes[engineering]
	if err := d.say(ctx, line{d.other(home), engineering, "Ann", "They must have taken another route."}); err != nil {
		return err
	}
	i := slices.IndexFunc(d.stage, func(h *house.House) bool { return h.Name() == home })
	if err := d.leave(d.stage[i]); err != nil {
		return err
	}
	d.stage = slices.Delete(d.stage, i, i+1)
	return d.until(ctx, "the new Dad of "+engineering, func() bool { return d.homes[engineering] != home })
}

// goOn ends the story elsewhere: the new Dad goes on where his predecessor ended,
// and the one who stayed with his second joke.
func (d *director) goOn(ctx context.Context) error {
	err := d.say(ctx,
		line{1, engineering, "Bob", "Let us ask them when they get here."},
		line{0, random, "Cleo", "Never mind, I found it."},
	)
	if err != nil {
		return err
	}
	return d.until(ctx, "the last jokes", func() bool { return d.jokes[engineering] == 2 && d.jokes[random] == 2 })
}

// line is what somebody says through one of the nodes on the stage.
type line struct {
	via              int
	chat, from, text string
}

// pace is the pause after a line.
const pace = 500 * time.Millisecond

func (d *director) say(ctx context.Context, lines ...line) error {
	for _, l := range lines {
		via := d.stage[l.via]
		at := time.Now()
		d.paper.line(plain, "%s · %s: %s  (via %s)", l.chat, l.from, l.text, via.Name())
		m := dad.Said{ID: fmt.Sprint(l.chat, " ", at.UnixNano()), From: l.from, Text: l.text, Via: via.Name(), At: at}
		if err := via.Ref(l.chat).Tell(ctx, m); err != nil {
			return err
		}
		resume := at.Add(pace)
		if err := d.until(ctx, "the next line", func() bool { return !time.Now().Before(resume) }); err != nil {
			return err
		}
	}
	return nil
}

// other is a node on the stage that is not the named one.
func (d *director) other(name string) int {
	return slices.IndexFunc(d.stage, func(h *house.House) bool { return h.Name() != name })
}

// until writes down what happens, until a condition holds.
func (d *director) until(ctx context.Context, what string, holds func() bool) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case e := <-d.facts:
			d.write(e)
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		}
	}
	return nil
}

// tell is the nodes' end of facts.
func (d *director) tell(e audit.Event) {
	select {
	case d.facts <- e:
	case <-d.gone:
	}
}

func (d *director) write(e audit.Event) {
	switch e.Event {
	case audit.Entered:
		d.homes[e.Chat] = e.Node
		d.paper.line(scene, "Dad for %s has entered the chat on %s", e.Chat, e.Node)
		d.paper.line(dim, "%s → shard %s → %s", e.Chat, d.stage[0].ShardOf(e.Chat), e.Node)
	case audit.Joke:
		d.paper.line(joke, "%s · %s: %s", e.Chat, dad.Bot, e.Text)
		d.jokes[e.Chat]++
		if d.told[e.Chat+e.Text] {
			d.paper.line(repeat, "Repeated joke in %s!", e.Chat)
		}
		d.told[e.Chat+e.Text] = true
	case audit.Accepted, audit.Heard, audit.Stopped: // the audience sees them otherwise
	}
}

// open starts the next node and waits until it takes part.
func (d *director) open(ctx context.Context) error {
	name := fmt.Sprintf("node-%d", len(d.stage))
	h, err := house.Open(ctx, house.Config{
		Name: name, Style: d.style, Record: d.tell,
		Cluster: troupe.Config{
			Name: "dadbot", Seeds: d.seeds, Roles: []string{house.EdgeRole, house.DadRole},
			Times: quick(), Log: slog.New(slog.DiscardHandler),
		},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	d.stage = append(d.stage, h)
	if d.seeds == nil {
		d.seeds = []string{h.ID().Address.String()}
	}
	if err := d.until(ctx, name+" to take part", func() bool { return h.Up() && h.Registered() }); err != nil {
		return err
	}
	d.paper.line(dim, "%s is up at %s", name, h.ID().Address)
	return nil
}

// quick are times for a cluster on one machine with an audience.
func quick() troupe.Times {
	const often = 200 * time.Millisecond
	return troupe.Times{
		InitialDelay: often, Gossip: often, LeaderActions: often, Reaper: often, JoinRetry: often,
		Heartbeat: time.Second,
	}
}

// leave makes a node leave, writing down meanwhile what happens.
func (d *director) leave(h *house.House) error {
	d.paper.line(scene, "--- %s leaves the cluster ---", h.Name())
	left := make(chan error, 1)
	go func() { left <- h.Leave() }()
	for {
		select {
		case e := <-d.facts:
			d.write(e)
		case err := <-left:
			if err == nil {
				d.paper.line(dim, "%s has left", h.Name())
			}
			return err
		}
	}
}

// closeDown makes the nodes that are left leave one after the other. A Dad who
// moves in front of falling curtains is not written down.
func (d *director) closeDown() error {
	close(d.gone)
	var problems []error
	for _, h := range d.stage {
		err := h.Leave()
		if err == nil {
			d.paper.line(dim, "%s has left", h.Name())
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// breakOff ends all nodes at once.
func (d *director) breakOff() {
	close(d.gone)
	for _, h := range d.stage {
		h.Kill()
	}
}
