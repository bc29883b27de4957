package entity

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
)

// Pages is how many pages the book of a shard has. It is fixed for good: who
// changed it would not find what is stored.
const Pages = 16

// A Book is which ids of one shard are remembered: what of it is stored, and what
// is to be. It is kept in pages, each a value in the store with a revision, so that a
// change writes a few kilobytes however many ids there are. One page is
// written at a time, with all that has changed in it by then; changes that come
// meanwhile go with its next write.
type Book struct {
	pages   [Pages]page
	turn    int // the page that was written last
	writing bool
	flight  Write // what is being written
}

// A page is some of a book's ids.
type page struct {
	revision uint64
	ids      []string // stored, sorted
	size     int      // of the ids as they are stored, changes included
	start    []string // to be added, in the order in which they were asked for
	stop     []string // to be removed
}

// A Write is one page that is to be stored.
type Write struct {
	Page     int
	Revision uint64   // that the page has now
	Value    []byte   // that it will have
	Started  []string // the ids that are remembered by it
	Stopped  []string // the ids that are forgotten by it
}

// Load takes in a page as it is stored. Pages that are not loaded are empty.
func (b *Book) Load(n int, revision uint64, value []byte) error {
	if n < 0 || n >= Pages {
		return fmt.Errorf("page %d of %d", n, Pages)
	}
	ids, err := parse(value)
	if err != nil {
		return err
	}
	b.pages[n] = page{revision: revision, ids: ids, size: len(value)}
	return nil
}

// IDs are all that is stored, page by page, sorted in each.
func (b *Book) IDs() []string {
	var all []string
	for i := range b.pages {
		all = append(all, b.pages[i].ids...)
	}
	return all
}

// pageOf gives the number of the page of an id, for good.
func pageOf(id string) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32() % Pages)
}

// Start asks for an id to be remembered. It is false, and nothing is asked for, if
// its page would grow beyond limit bytes.
func (b *Book) Start(id string, limit int) bool {
	p := &b.pages[pageOf(id)]
	size := len(quoted(nil, id))
	if p.size+size > limit {
		return false
	}
	p.size += size
	p.start = append(p.start, id)
	return true
}

// Stop asks for an id to be forgotten that is stored, or is being stored.
func (b *Book) Stop(id string) {
	p := &b.pages[pageOf(id)]
	p.size -= len(quoted(nil, id))
	p.stop = append(p.stop, id)
}

// Due tells whether anything is to be written, or being written.
func (b *Book) Due() bool {
	for i := range b.pages {
		if b.pages[i].changed() {
			return true
		}
	}
	return b.writing
}

func (p *page) changed() bool { return len(p.start)+len(p.stop) > 0 }

// Next gives what is to be written: what is under way, for a write whose outcome
// is not known has to be repeated as it was; else the next page that has changed. It
// is false if nothing is due.
func (b *Book) Next() (w Write, ok bool) {
	for n := 0; n < Pages && !b.writing; n++ {
		b.turn = (b.turn + 1) % Pages
		if p := &b.pages[b.turn]; p.changed() {
			b.writing, b.flight = true, p.write(b.turn)
		}
	}
	return b.flight, b.writing
}

func (p *page) write(n int) Write {
	w := Write{Page: n, Revision: p.revision, Started: p.start, Stopped: p.stop}
	p.start, p.stop = nil, nil
	stopped := map[string]bool{}
	for _, id := range w.Stopped {
		stopped[id] = true
	}
	ids := slices.DeleteFunc(slices.Clone(p.ids), func(id string) bool { return stopped[id] })
	ids = append(ids, w.Started...)
	slices.Sort(ids)
	p.ids = slices.Compact(ids)
	for _, id := range p.ids {
		w.Value = quoted(w.Value, id)
	}
	return w
}

// Written says that the write under way is stored, with the page's next revision.
func (b *Book) Written(revision uint64) {
	b.pages[b.flight.Page].revision = revision
	b.writing, b.flight = false, Write{}
}

// quoted appends an id as it is stored: as Go quotes it, in a line of its own, so that
// people can read it and any bytes come back.
func quoted(dst []byte, id string) []byte { return append(strconv.AppendQuote(dst, id), '\n') }

// parse reads the ids of a page; they come back sorted.
func parse(value []byte) ([]string, error) {
	var ids []string
	for n := 1; len(value) > 0; n++ {
		line, rest, ok := bytes.Cut(value, []byte{'\n'})
		id, err := strconv.Unquote(string(line))
		if !ok || err != nil || len(line) == 0 || line[0] != '"' {
			return nil, fmt.Errorf("line %d, %.40q, is not a quoted id", n, line)
		}
		ids, value = append(ids, id), rest
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
