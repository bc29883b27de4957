package dad_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/examples/dadbot/dad"
)

// book is a notebook that can fail.
type book struct {
	mu    sync.Mutex
	notes dad.Notes
	read  error
	write error
	wrote []int
}

func (b *book) of(*actor.Ctx[dad.Msg]) (dad.Notebook, error) { return b, nil }

// fail says what reading and writing end with from now on.
func (b *book) fail(read, write error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read, b.write = read, write
}

func (b *book) Read(context.Context) (dad.Notes, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes, b.read
}

func (b *book) Write(_ context.Context, n dad.Notes) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.write == nil {
		b.notes = n
		b.wrote = append(b.wrote, n.Puns)
	}
	return b.write
}

func TestANotebookOutlivesItsDad(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		b := new(book)
		first := enter(t, style, dad.Config{Pun: pun, Notebook: b.of})
		first.say("a")
		first.wait(time.Minute)
		first.wantJokes("4.5s a: pun 0") // and then his node crashes

		second := enter(t, style, dad.Config{Pun: pun, Notebook: b.of})
		second.say("b")
		second.wait(time.Minute)
		second.wantJokes("4.5s b: pun 1")
		if want := []int{1, 2}; !slices.Equal(b.wrote, want) {
			t.Errorf("the notes are %v, want %v", b.wrote, want)
		}
		second.cell.Drain()
		synctest.Wait()
		second.wantHeirs()
	})
}

// He tries for as long as it takes, and says only once why he is silent.
func TestADadDoesNotRepeatHisLament(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		b := &book{read: errors.New("no light")}
		st := enter(t, style, dad.Config{Pun: pun, Notebook: b.of})
		st.say("a")
		st.wait(time.Minute)
		if got := strings.Count(st.log.String(), "no light"); got != 1 {
			t.Errorf("%d lines in a minute, want 1:\n%s", got, st.log.String())
		}
		b.fail(nil, nil)
		st.wait(time.Minute)
		st.wantJokes("1m3s a: pun 0")
	})
}

func TestADadTellsNothingThatHeCannotWriteDown(t *testing.T) {
	bothStyles(t, func(t *testing.T, style dad.Style) {
		b := &book{read: errors.New("no light")}
		st := enter(t, style, dad.Config{Pun: pun, Notebook: b.of})
		st.say("a")
		st.wait(5 * time.Second)
		b.fail(nil, errors.New("no pencil"))
		st.say("b")
		st.wait(5 * time.Second)
		st.wantJokes()
		b.fail(nil, nil)
		st.say("c")
		st.wait(time.Minute)
		st.wantJokes("14.5s a,b,c: pun 0")
	})
}
