package dad

import (
	"context"
	"time"
)

// A Notebook is where a Dad writes what must outlive him, and his node. It is used by
// one Dad at a time, and refuses one who has a successor.
type Notebook interface {
	// Read gives what was written last; the zero Notes if nothing was.
	Read(ctx context.Context) (Notes, error)
	// Write replaces it. After an error it may have been written or not.
	Write(ctx context.Context, n Notes) error
}

// Notes are what a Dad writes down before he tells a joke.
type Notes struct {
	Puns int `json:"puns"` // how many the chat has heard, with this one
}

// noteWithin is how long a Dad looks for his pencil.
const noteWithin = 2 * time.Second

// notes are a Dad's notebook, if he has one.
type notes struct {
	book Notebook
	read bool
}

// open has him study what his predecessors wrote, once in his life.
func (n *notes) open(ctx context.Context, m *mind) error {
	if n.book == nil || n.read {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, noteWithin)
	defer cancel()
	before, err := n.book.Read(ctx)
	if err != nil {
		return err
	}
	n.read = true
	m.inherit(Told(before))
	return nil
}

// write writes even when he is about to be stopped, so that the joke is told.
func (n *notes) write(ctx context.Context, now Notes) error {
	if n.book == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
	defer cancel()
	return n.book.Write(ctx, now)
}
