package play

import (
	"fmt"
	"io"
	"time"
)

// Paper is what the play is written on: one line per happening, with its time.
// It belongs to one goroutine.
type Paper struct {
	w      io.Writer
	colour bool
	err    error // the first of writing
}

// NewPaper writes on w, in colours if w shows them.
func NewPaper(w io.Writer, colour bool) *Paper { return &Paper{w: w, colour: colour} }

// ink is how a line is coloured: an SGR parameter of ECMA-48.
type ink string

const (
	plain  ink = "0"
	dim    ink = "2"
	scene  ink = "1;36" // what the cluster does
	joke   ink = "33"
	repeat ink = "1;31"
)

// line writes one line.
func (p *Paper) line(k ink, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	clock := time.Now().Format("15:04:05.000")
	if p.colour {
		clock = paint(dim, clock)
		text = paint(k, text)
	}
	if _, err := fmt.Fprintf(p.w, "%s  %s\n", clock, text); err != nil && p.err == nil {
		p.err = err
	}
}

func paint(k ink, text string) string { return "\x1b[" + string(k) + "m" + text + "\x1b[0m" }
