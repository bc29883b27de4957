package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/store/postgres/postgrestest"
)

// The flags of `make moves`.
var (
	moves     = flag.Bool("moves", false, "have TestMoves play all runs in all housings, and hold them to their times; else it plays a short one")
	movesPage = flag.String("page", "", "`file` to write the table of the runs to")
)

// A story is what happens to a fleet under load.
type story struct {
	what string
	do   func(f *fleet)
}

// stories are those of `make moves`.
var stories = []story{
	{"rolling restart, twice", func(f *fleet) {
		for range 2 {
			for i := range f.dads {
				f.back(i, f.leave(i))
			}
		}
	}},
	{"kill -9 of each in turn", func(f *fleet) {
		for i := range f.dads {
			f.back(i, f.kill(i))
			after(eyesOpen)
		}
	}},
	{"scale-out to five and back", func(f *fleet) {
		for i := fleetDads; i < maxDads; i++ {
			p := f.add(i)
			f.dads = append(f.dads, p)
			f.welcome(p)
		}
		for range maxDads - fleetDads {
			f.leave(len(f.dads) - 1)
		}
	}},
}

// short is what the tests play: one of each kind.
var short = story{"a leave, a return and a kill", func(f *fleet) {
	left := f.leave(0)
	f.back(0, left)
	f.kill(1)
}}

// housings are where `make moves` plays each run; the tests use those that are short.
var housings = []struct {
	housing
	short bool
}{
	{housing{placement: "coordinator"}, true},
	{housing{placement: "coordinator", edges: 2}, false},
	{housing{placement: "ring", store: "sqlite"}, true},
	{housing{placement: "ring", store: "sqlite", edges: 2}, false},
	{housing{placement: "ring", store: "postgres"}, false},
	{housing{placement: "ring", store: "postgres", edges: 2}, false},
}

// The times that runs are held to.
const (
	movesWithin      = 150 * time.Millisecond // p99 of the delay while a node leaves
	recoverByLease   = 4 * time.Second        // the ring: its lease and a second
	planWithin       = 100 * time.Millisecond // how late the load itself may be
	answeredInMedian = 50 * time.Millisecond  // else the machine is busy with something else
)

// TestMoves holds real processes, under a steady load through all of them, to what is
// promised of moves and crashes: nothing lost, nothing answered by two, the order of
// senders kept, and no request failed at a node that is up.
func TestMoves(t *testing.T) {
	if !*moves {
		for _, h := range housings {
			if h.short {
				t.Run(h.String(), func(t *testing.T) {
					t.Parallel()
					t.Log(short.play(t, h.housing))
				})
			}
		}
		return
	}
	var rows []string
	for _, h := range housings {
		for _, s := range stories {
			t.Run(h.String()+": "+s.what, func(t *testing.T) {
				row := s.play(t, h.housing)
				t.Log(row)
				rows = append(rows, row)
			})
		}
	}
	table := tableHead + strings.Join(rows, "\n") + "\n"
	t.Logf("\n%s", table)
	if *movesPage == "" {
		return
	}
	if err := os.WriteFile(*movesPage, []byte(fmt.Sprintf(pageHead, time.Now().UTC().Format(time.DateOnly))+table), 0o644); err != nil {
		t.Error(err)
	}
}

const tableHead = `| housing | run | accepted | refused | lost | by two | out of order | delay p50 | p99 | moving p99 | at most | after each kill | told again |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

// play plays the story, and gives its row of the table.
func (s story) play(t *testing.T, h housing) (row string) {
	t.Helper()
	f := startFleet(t, h, storeOf(t, h))
	s.do(f)
	o := f.settle()
	wantNone(t, "refused by a node that is up", f.traffic.refused)
	wantNone(t, "lost", o.lost)
	wantNone(t, "in more than one joke", o.doubled)
	wantNone(t, "out of order", o.reordered)
	wantNone(t, "two Dads at a time", o.rivals)
	if *moves {
		f.wantInTime(o)
	}
	ms := func(d time.Duration) string { return fmt.Sprint(d.Round(100 * time.Microsecond)) }
	var longest []string
	for _, d := range o.longest {
		longest = append(longest, fmt.Sprint(d.Round(10*time.Millisecond)))
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | %s | %s | %s | %s | %s | %d |", h, s.what, o.accepted,
		len(f.traffic.refused), len(o.lost), len(o.doubled)+len(o.rivals), len(o.reordered),
		ms(percentile(o.calm, 50)), ms(percentile(o.calm, 99)), ms(percentile(o.moving, 99)), ms(percentile(o.moving, 100)),
		strings.Join(longest, " "), o.again)
}

// wantInTime holds an outcome to the times of `make moves`.
func (f *fleet) wantInTime(o outcome) {
	f.t.Helper()
	if late := f.traffic.behind; late > planWithin || percentile(o.calm, 50) > answeredInMedian {
		f.t.Errorf("the load was %v behind, and a message is heard after %v: this machine is too busy for these runs", late, percentile(o.calm, 50))
	}
	if p99 := percentile(o.moving, 99); p99 > movesWithin {
		f.t.Errorf("while nodes left, the p99 of the delay was %v, want %v", p99, movesWithin)
	}
	within := recoverWithin
	if f.house.placement == "ring" {
		within = recoverByLease
	}
	for _, d := range o.longest {
		if d > within {
			f.t.Errorf("after a kill a message waited for %v, want %v at most", d, within)
		}
	}
}

// storeOf makes a database for a fleet.
func storeOf(t *testing.T, h housing) (url string) {
	t.Helper()
	switch h.store {
	case "":
		return ""
	case "sqlite":
		return "sqlite:" + filepath.Join(t.TempDir(), "dadbot.db")
	}
	server, err := postgrestest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL()
}

const pageHead = `# Moves and crashes of real processes

What ` + "`make moves`" + ` measured on %s, on two cores. Three processes of [DadBot](../examples/dadbot) host the Dads of 300 chats; with edges, two more
in front of them take all messages and host nobody. 200 messages a second come in, four at a time from one sender to one chat, by a plan that waits for no
answer. Dads joke half a second later. All else is as by default: who coordinates gives out what a killed node hosted when the crash is confirmed, the
ring when the lease of 3 s has run out.

Every process writes down what it accepted (before its 202), what its Dads heard and what they joked about. The table is read from that, over all lives of
all nodes, when the run is over:

- **refused**: answers other than 202 of nodes that are up. People go elsewhere before a node is told to leave, and when it is killed.
- **lost**: accepted, and in no joke; but for what a node accepted that was killed itself before it handed that on.
- **by two**: in two jokes, or to a chat with two Dads at a time. **told again**: in a second joke because the first was told within 100 ms of the kill of
  its teller, or of the loss of its node's seat, before it was confirmed that the messages are handled: at least once is not exactly once.
- **out of order**: heard, or joked about, in another order than its sender's.
- **delay**: from when a message is due until a Dad hears it. **Moving**: of what is said from the SIGTERM to a node until half a second after its end.
  **After each kill**: the longest of what was said since.

`
