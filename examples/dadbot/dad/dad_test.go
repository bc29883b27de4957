package dad_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/examples/dadbot/audit"
	"github.com/troupe-go/troupe/examples/dadbot/dad"
)

// bothStyles plays a test with each Dad, in virtual time.
func bothStyles(t *testing.T, test func(t *testing.T, style dad.Style)) {
	for _, style := range []dad.Style{dad.StateMachine, dad.PlainLoop} {
		t.Run(string(style), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, style) })
		})
	}
}

// stage is a place for one Dad, with a view of all that he does.
type stage struct {
	t      *testing.T
	begun  time.Time
	system *actor.System
	cell   *actor.Cell[dad.Msg]
	ref    actor.Ref[dad.Msg]
	log    bytes.Buffer // written by the actor; read when all is quiet

	mu     sync.Mutex
	events []event
	heirs  []string // what is left to his successor: "told N", and ids
}

// event is a fact and how long after the beginning it happened.
type event struct {
	after time.Duration
	audit.Event
}

// enter starts a Dad for #engineering whose own ref leads to st.heirs, as that
// of an entity that has moved leads to its successor.
func enter(t *testing.T, style dad.Style, conf dad.Config) *stage {
	t.Helper()
	st := &stage{t: t, begun: time.Now()}
	log := slog.New(slog.NewTextHandler(&st.log, nil))
	st.system = actor.NewSystem(actor.Config{Name: "test", Log: log})
	t.Cleanup(func() {
		if err := st.system.Stop(context.Background()); err != nil {
			t.Errorf("stop the system: %v", err)
		}
	})
	conf.Node, conf.Record = "node-0", st.record
	start, err := conf.Start(style)
	if err != nil {
		t.Fatal(err)
	}
	st.cell, err = actor.NewCell(st.system, actor.CellConfig[dad.Msg]{
		Name: "#engineering", Start: start, Self: actor.NewRef[dad.Msg](heir{st}, "#engineering"),
		Ended: st.inherit,
	})
	if err != nil {
		t.Fatal(err)
	}
	st.ref = actor.NewRef[dad.Msg](st.cell, "")
	return st
}

// heir takes what a Dad tells to his own ref.
type heir struct{ st *stage }

func (h heir) Deliver(_ context.Context, _ string, m dad.Msg) error {
	h.st.mu.Lock()
	defer h.st.mu.Unlock()
	h.st.heirs = append(h.st.heirs, fmt.Sprint("told ", m.(dad.Told).Puns))
	return nil
}

// inherit takes what he has not handled.
func (st *stage) inherit(left []actor.Leftover[dad.Msg], _ actor.StopReason, _ error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, l := range left {
		st.heirs = append(st.heirs, l.Message.(dad.Said).ID)
	}
}

func (h heir) Describe(key string) string { return "heir of " + key }

func (st *stage) record(e audit.Event) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.events = append(st.events, event{time.Since(st.begun), e})
}

// say tells the Dad a message that was said now.
func (st *stage) say(id string) { st.sayAt(id, time.Now()) }

func (st *stage) sayAt(id string, at time.Time) {
	st.t.Helper()
	m := dad.Said{ID: id, From: "Ann", Text: "text of " + id, Via: "node-1", At: at}
	if err := st.ref.Tell(st.t.Context(), m); err != nil {
		st.t.Fatalf("say %s: %v", id, err)
	}
}

// wait lets d pass, and then until nothing is to be done any more.
func (st *stage) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (st *stage) recall() dad.Memory {
	st.t.Helper()
	m, err := actor.Ask(st.t.Context(), st.ref, dad.Recall{})
	if err != nil {
		st.t.Fatalf("ask what Dad remembers: %v", err)
	}
	return m
}

// jokes are those told so far, as "6.5s a,b: pun 0".
func (st *stage) jokes() []string {
	st.mu.Lock()
	defer st.mu.Unlock()
	var jokes []string
	for _, e := range st.events {
		if e.Event.Event == audit.Joke {
			jokes = append(jokes, fmt.Sprintf("%v %s: %s", e.after, strings.Join(e.IDs, ","), e.Text))
		}
	}
	return jokes
}

func (st *stage) wantJokes(want ...string) {
	st.t.Helper()
	if got := st.jokes(); !slices.Equal(got, want) {
		st.t.Errorf("jokes are\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// wantHeirs compares what is left to his successor, when he has ended.
func (st *stage) wantHeirs(want ...string) {
	st.t.Helper()
	if !slices.Equal(st.heirs, want) {
		st.t.Errorf("the successor hears %q, want %q", st.heirs, want)
	}
}

func (st *stage) kinds() string {
	st.mu.Lock()
	defer st.mu.Unlock()
	var kinds []string
	for _, e := range st.events {
		kinds = append(kinds, strings.TrimSuffix(string(e.Event.Event)+" "+e.ID, " "))
	}
	return strings.Join(kinds, ", ")
}

// pun is a short one.
func pun(n int) (string, error) { return fmt.Sprintf("pun %d", n), nil }

func TestDadJokesWhenTheChatIsQuiet(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		st := enter(t, style, dad.Config{Pun: pun})
		st.wait(time.Minute)
		st.wantJokes()
		st.say("a")
		st.wait(2 * time.Second)
		st.say("b") // starts the 2.5 s anew
		st.wait(2 * time.Second)
		st.say("c")
		st.wait(4499 * time.Millisecond)
		st.wantJokes()
		st.wait(time.Millisecond)
		st.wantJokes("1m8.5s a,b,c: pun 0")
		st.wait(time.Minute)
		st.wantJokes("1m8.5s a,b,c: pun 0")
	})
}

func TestWhatIsSaidWhileDadThinksIsTheNextBatch(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		st := enter(t, style, dad.Config{Pun: pun})
		st.say("a")
		st.wait(3 * time.Second) // he thinks
		st.say("b")
		st.say("c")
		st.wait(time.Minute)
		// The joke broke the silence, so the second wait starts with it.
		st.wantJokes("4.5s a: pun 0", "9s b,c: pun 1")
	})
}

func TestDadRestsBetweenJokes(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		st := enter(t, style, dad.Config{Quiet: 10 * time.Millisecond, Think: 20 * time.Millisecond, Pun: pun})
		for _, id := range []string{"a", "b", "c"} {
			st.say(id)
			st.wait(time.Second)
		}
		st.wantJokes("30ms a: pun 0", "1.03s b: pun 1", "2.03s c: pun 2")
	})
}

func TestAFailedPunIsAWarningAndTheNextJokeIsAboutItsMessagesToo(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		fails := 1
		st := enter(t, style, dad.Config{Pun: func(n int) (string, error) {
			if fails > 0 {
				fails--
				return "", errors.New("the muse is out")
			}
			return pun(n)
		}})
		st.say("a")
		st.wait(3 * time.Second)
		st.say("b")
		st.wait(time.Minute)
		st.wantJokes("9s a,b: pun 0")
		for _, want := range []string{"level=WARN", "chat=#engineering", "the muse is out"} {
			if !strings.Contains(st.log.String(), want) {
				t.Errorf("the log has no %q:\n%s", want, st.log.String())
			}
		}
	})
}

func TestOneIdIsJokedAboutOnceInALife(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		st := enter(t, style, dad.Config{Pun: pun})
		st.say("a")
		st.wait(time.Second)
		st.say("a") // does not break the silence either
		st.wait(3 * time.Second)
		st.say("a")
		st.wait(time.Minute)
		st.say("a")
		st.wait(time.Minute)
		st.wantJokes("4.5s a: pun 0")
		if got, want := st.kinds(), "entered, heard a, heard a, heard a, joke, heard a"; got != want {
			t.Errorf("events are %s, want %s", got, want)
		}
	})
}

func TestAJokeIsAboutMessagesInTheOrderInWhichTheyWereSaid(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		st := enter(t, style, dad.Config{Pun: pun})
		now := time.Now()
		st.sayAt("c", now.Add(3))
		st.sayAt("d", now.Add(3))
		st.sayAt("a", now.Add(1))
		st.sayAt("e", now.Add(4))
		st.sayAt("b", now.Add(2))
		st.wait(time.Minute)
		st.wantJokes("4.5s a,b,c,d,e: pun 0")
	})
}

func TestAChatThatIsNeverQuietGetsItsJokes(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		st := enter(t, style, dad.Config{Pun: pun})
		for i := range 2*dad.MaxBatch + 1 {
			st.say(fmt.Sprint(i))
		}
		st.wait(time.Minute)
		var sizes []string
		for _, e := range st.events {
			if e.Event.Event == audit.Joke {
				sizes = append(sizes, fmt.Sprint(e.after, " ", len(e.IDs)))
			}
		}
		if want := []string{"2s 1000", "4s 1000", "8.5s 1"}; !slices.Equal(sizes, want) {
			t.Errorf("jokes at and about %q, want %q", sizes, want)
		}
	})
}

func TestDadRemembersThisLife(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		st := enter(t, style, dad.Config{Pun: pun})
		at := time.Now()
		st.say("a")
		if got := st.recall(); len(got.Lines) != 1 {
			t.Errorf("while collecting he remembers %v, want one line", got.Lines)
		}
		st.wait(3 * time.Second)
		if got := st.recall(); len(got.Lines) != 1 { // he answers while he thinks
			t.Errorf("while thinking he remembers %v, want one line", got.Lines)
		}
		st.wait(time.Minute)
		got := st.recall()
		want := []dad.Line{
			{At: at, ID: "a", From: "Ann", Text: "text of a", Via: "node-1"},
			{At: at.Add(4500 * time.Millisecond), ID: "joke:a", From: dad.Bot, Text: "pun 0", Via: "node-0", Batch: []string{"a"}},
		}
		if got.Node != "node-0" || !slices.EqualFunc(got.Lines, want, sameLine) {
			t.Errorf("he remembers\n %+v\nwant\n %+v", got.Lines, want)
		}
	})
}

func sameLine(a, b dad.Line) bool {
	return a.At.Equal(b.At) && a.ID == b.ID && a.From == b.From && a.Text == b.Text && a.Via == b.Via && slices.Equal(a.Batch, b.Batch)
}

func TestADadWhoIsStoppedLeavesWhatHeHasNotJokedAbout(t *testing.T) {
	for _, way := range []struct {
		name string
		stop func(*actor.Cell[dad.Msg])
	}{
		{"drained", (*actor.Cell[dad.Msg]).Drain},
		{"stopped", (*actor.Cell[dad.Msg]).Stop},
	} {
		t.Run(way.name, func(t *testing.T) {
			bothStyles(t, func(t *testing.T, style dad.Style) {
				st := enter(t, style, dad.Config{Pun: pun})
				st.say("a")
				st.wait(time.Minute) // joked about: not to be told again
				st.say("b")
				st.say("c")
				st.wait(3 * time.Second) // he thinks
				st.say("d")
				st.wait(time.Second)
				way.stop(st.cell)
				synctest.Wait()
				st.wantHeirs("told 1", "b", "c", "d")
				want := "entered, heard a, joke, heard b, heard c, heard d, stopped"
				if got := st.kinds(); got != want {
					t.Errorf("events are %s, want %s", got, want)
				}
			})
		})
	}
}

func TestADadDoesNotRepeatHisPredecessors(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		st := enter(t, style, dad.Config{Pun: pun})
		inherit := func(puns int) {
			if err := st.ref.Tell(t.Context(), dad.Told{Puns: puns}); err != nil {
				t.Fatal(err)
			}
		}
		inherit(3)
		st.say("a")
		st.wait(time.Second) // he collects
		inherit(4)
		st.wait(2 * time.Second) // he thinks
		inherit(5)
		inherit(2) // of one before
		st.wait(time.Minute)
		st.wantJokes("4.5s a: pun 5")
		st.cell.Drain()
		synctest.Wait()
		st.wantHeirs("told 6")
	})
}

// A Dad who told himself anything when he goes to rest would never rest.
func TestADadWhoGoesToRestIsSilent(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		st := enter(t, style, dad.Config{Pun: pun})
		st.say("a")
		st.wait(time.Minute)
		if !st.cell.Passivate() {
			t.Fatal("he cannot go to rest")
		}
		synctest.Wait()
		if got, want := st.kinds(), "entered, heard a, joke, stopped"; got != want {
			t.Errorf("events are %s, want %s", got, want)
		}
		st.wantHeirs()
	})
}

func TestADrainedDadHearsWhatIsInHisMailboxFirst(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		st := enter(t, style, dad.Config{Pun: pun})
		st.say("a")
		st.say("b")
		st.say("c")
		st.cell.Drain()
		synctest.Wait()
		if got, want := st.kinds(), "entered, heard a, heard b, heard c, stopped"; got != want {
			t.Errorf("events are %s, want %s", got, want)
		}
		st.wantHeirs("a", "b", "c")
	})
}

func TestADadWhoFailedLeavesHisMessages(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		st := enter(t, style, dad.Config{Pun: func(int) (string, error) { panic("no laughing matter") }})
		st.say("a")
		st.wait(time.Minute)
		st.wantHeirs("a")
		if got, want := st.kinds(), "entered, heard a, stopped"; got != want {
			t.Errorf("events are %s, want %s", got, want)
		}
	})
}
