package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/sbr"
)

func TestDatabases(t *testing.T) {
	for _, text := range []string{
		"sqlite:dadbot.db", "sqlite:/var/lib/dad bot.db", "sqlite:./a:b",
		"postgres://dad@host/dads", "postgresql://dad:secret@host:5432/dads?sslmode=verify-full",
	} {
		if open, err := parseStore(text); err != nil || open == nil {
			t.Errorf("-store %s is refused: %v", text, err)
		}
	}
	for _, text := range []string{"", "dadbot.db", "sqlite:", "postgers://dad:secret@host/dads", "postgres:dad:secret@host"} {
		_, err := parseStore(text)
		if err == nil || !strings.Contains(err.Error(), "sqlite") && !strings.Contains(err.Error(), "postgres://") {
			t.Errorf("-store %s: %v; want what to write instead", text, err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("-store %s: %v; want no password in it", text, err)
		}
	}
}

// TestAStoreTakesThePlaceOfSeeds: and by default it decides who survives.
func TestAStoreTakesThePlaceOfSeeds(t *testing.T) {
	for _, tt := range []struct {
		flags   string
		seeds   int
		downing sbr.Strategy
	}{
		{"", 3, nil},
		{"-store sqlite:dadbot.db", 0, nil},
		{"-store sqlite:dadbot.db -listen 127.0.0.1:9", 0, nil},
		{"-store sqlite:dadbot.db -seeds 127.0.0.1:8", 1, nil},
		{"-store sqlite:dadbot.db -downing keep-oldest", 0, sbr.KeepOldest{}},
		{"-store sqlite:dadbot.db -downing lease-majority:1s", 0, sbr.LeaseMajority{AcquireDelay: time.Second}},
	} {
		o, err := parseNode(append([]string{"1"}, strings.Fields(tt.flags)...), t.Output())
		if c := o.house.Cluster; err != nil || len(c.Seeds) != tt.seeds || c.Downing.Strategy != tt.downing {
			t.Errorf("flags %q: seeds %v, strategy %v, %v; want %d seeds and %v", tt.flags, c.Seeds, c.Downing.Strategy, err, tt.seeds, tt.downing)
		}
	}
}

func TestAStoreThatCannotBeOpenedIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "dadbot.db")
	var stderr strings.Builder
	if code := run(t.Context(), []string{"node", "9", "-store", "sqlite:" + path}, t.Output(), &stderr); code != exitFailure || !strings.HasPrefix(stderr.String(), "dadbot: -store: open "+path) {
		t.Errorf("with a file in no folder: exit %d and %q; want %d and the path", code, &stderr, exitFailure)
	}
}

// TestNodesShareAFile has three nodes that know nothing but a file found one
// cluster. One leaves, and one of the other two is killed: the last has the lease
// in the file on its side, so it goes on, and others join it.
func TestNodesShareAFile(t *testing.T) {
	t.Parallel()
	file := "sqlite:" + filepath.Join(t.TempDir(), "dadbot.db")
	nodes := startCluster(t, 3, "-store", file)
	leaving, victim, last := nodes[0], nodes[1], nodes[2]
	if victim.listen > last.listen { // of two halves, the lowest address would survive without a lease
		victim, last = last, victim
	}
	leaving.leave(t)
	eventually(t, "the others have seen it leave", func() error { return last.sees(2) })
	victim.kill(t)
	eventually(t, "the last is alone", func() error { return last.sees(1) })
	for i := range chats {
		eventually(t, "the last answers for every chat", func() error { return answers(last, i) })
	}
	ports := freePorts(t, 3)
	newcomer := newProcess(3, t.TempDir(), ports)
	newcomer.start(t, slices.Concat([]string{"-store", file}, quick)...)
	eventually(t, "a newcomer has joined", func() error { return newcomer.sees(2) })
	newcomer.leave(t)
	last.leave(t)
}
