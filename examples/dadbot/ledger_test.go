package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/examples/dadbot/audit"
)

// ledger is what the audit files of a cluster say, by time.
type ledger []audit.Event

func readLedger(t *testing.T, nodes []*process) ledger {
	t.Helper()
	var l ledger
	for _, p := range nodes {
		data, err := os.ReadFile(p.audit)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var e audit.Event
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatalf("%s: %v: %s", p.audit, err, line)
			}
			e.Node = p.label()
			l = append(l, e)
		}
	}
	slices.SortStableFunc(l, func(a, b audit.Event) int { return a.T.Compare(b.T) })
	return l
}

// jokedAbout counts in how many jokes each id is.
func (l ledger) jokedAbout() map[string]int {
	in := make(map[string]int)
	for _, e := range l {
		if e.Event == audit.Joke {
			for _, id := range e.IDs {
				in[id]++
			}
		}
	}
	return in
}

// accepted are the ids that edges took after a time.
func (l ledger) accepted(after time.Time) []string {
	var ids []string
	for _, e := range l {
		if e.Event == audit.Accepted && e.T.After(after) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// lost is an error while an accepted id is in no joke.
func (l ledger) lost(after time.Time) error {
	jokes := l.jokedAbout()
	accepted := l.accepted(after)
	var lost []string
	for _, id := range accepted {
		if jokes[id] == 0 {
			lost = append(lost, id)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d accepted messages are in no joke: %s", len(lost), len(accepted), strings.Join(lost[:min(5, len(lost))], ", "))
}

// doubled are the ids that are in more than one joke.
func (l ledger) doubled() []string {
	var ids []string
	for id, n := range l.jokedAbout() {
		if n > 1 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// reordered are the places where a sender's messages in a chat are out of
// order, within a joke or from one to the next. An id is sender/chat/number.
func (l ledger) reordered() []string {
	last := make(map[string]int)
	told := make(map[string]bool) // repeats are another matter
	var bad []string
	for _, e := range l {
		if e.Event != audit.Joke {
			continue
		}
		for _, id := range e.IDs {
			if told[id] {
				continue
			}
			told[id] = true
			i := strings.LastIndexByte(id, '/')
			n, _ := strconv.Atoi(id[i+1:])
			if before, ok := last[id[:i]]; ok && n <= before {
				bad = append(bad, fmt.Sprintf("%s comes after %d in a joke on %s", id, before, e.Node))
			}
			last[id[:i]] = n
		}
	}
	return bad
}

// rivals are the moments at which a chat had two Dads. The life of a Dad on a
// node that was killed ended with it.
func (l ledger) rivals(killed map[string]time.Time) []string {
	type life struct {
		node      string
		from, til time.Time
	}
	forever := time.Now().Add(time.Hour)
	lives := make(map[string][]life)
	for _, e := range l {
		if e.Event == audit.Entered {
			end := forever
			if at, ok := killed[e.Node]; ok {
				end = at
			}
			lives[e.Chat] = append(lives[e.Chat], life{e.Node, e.T, end})
		}
		if e.Event == audit.Stopped {
			of := lives[e.Chat]
			for i := len(of) - 1; i >= 0; i-- {
				if of[i].node == e.Node {
					of[i].til = e.T
					break
				}
			}
		}
	}
	var bad []string
	for chat, of := range lives {
		slices.SortFunc(of, func(a, b life) int { return cmp.Or(a.from.Compare(b.from), a.til.Compare(b.til)) })
		for i := 1; i < len(of); i++ {
			if of[i].from.Before(of[i-1].til) {
				bad = append(bad, fmt.Sprintf("%s had a Dad on %s, who entered %v before the one on %s had ended",
					chat, of[i].node, of[i-1].til.Sub(of[i].from), of[i-1].node))
			}
		}
	}
	slices.Sort(bad)
	return bad
}

func TestTheLedgerFindsWhatIsWrong(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	l := ledger{
		{T: at(1), Node: "node-0", Event: audit.Entered, Chat: "#c1"},
		{T: at(2), Node: "node-1", Event: audit.Accepted, Chat: "#c1", ID: "s/c1/1"},
		{T: at(3), Node: "node-1", Event: audit.Accepted, Chat: "#c1", ID: "s/c1/2"},
		{T: at(4), Node: "node-1", Event: audit.Accepted, Chat: "#c1", ID: "s/c1/3"},
		{T: at(5), Node: "node-0", Event: audit.Joke, Chat: "#c1", IDs: []string{"s/c1/2", "s/c1/1"}},
		{T: at(6), Node: "node-2", Event: audit.Entered, Chat: "#c1"},
		{T: at(7), Node: "node-0", Event: audit.Stopped, Chat: "#c1"},
		{T: at(8), Node: "node-2", Event: audit.Joke, Chat: "#c1", IDs: []string{"s/c1/2"}},
	}
	if err := l.lost(time.Time{}); err == nil || !strings.Contains(err.Error(), "1 of 3 accepted messages are in no joke: s/c1/3") {
		t.Errorf("lost: %v", err)
	}
	if got := l.doubled(); !slices.Equal(got, []string{"s/c1/2"}) {
		t.Errorf("doubled: %q", got)
	}
	if got := l.reordered(); len(got) != 1 || !strings.HasPrefix(got[0], "s/c1/1 comes after 2") {
		t.Errorf("reordered: %q", got)
	}
	if got := l.rivals(nil); len(got) != 1 || !strings.Contains(got[0], "1s before") {
		t.Errorf("rivals: %q", got)
	}
	if got := l[:6].rivals(map[string]time.Time{"node-0": at(5)}); len(got) != 0 {
		t.Errorf("rivals after node-0 was killed: %q", got)
	}
}
