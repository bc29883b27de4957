package sim

import (
	"encoding/json"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	scaleFlag = flag.String("scale", "", "measure clusters of up to 1,000 nodes, and write what was seen to this `file`")
	nodesFlag = flag.String("nodes", "10,30,100,300,1000", "the sizes of clusters to measure")
)

// A cluster that starts all at once is there within a minute, whatever its
// size; so is one that 20 nodes join; and no node carries the others.
func TestScale(t *testing.T) {
	sizes := []int{10, 50 / min(2, slowdown)}
	if *scaleFlag != "" {
		sizes = nil
		for text := range strings.SplitSeq(*nodesFlag, ",") {
			size, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, size)
		}
	}
	var all []Scale
	for _, size := range sizes {
		all = append(all, Scale{Nodes: size})
		s := &all[len(all)-1]
		err := MeasureScale(size, 1, func(p Phase) {
			t.Logf("%4d nodes, %-9s %6.1f s, %7.1f kB/s a node, at most %8.1f kB and %d messages in a second",
				size, p.Name, p.Took.Seconds(), p.Mean/1e3, p.Busiest/1e3, p.Most)
			s.Phases = append(s.Phases, p)
			write(t, all)
		})
		if err != nil {
			t.Fatal(err)
		}
		s.check(t)
	}
}

// write saves what has been measured so far, as large clusters take long.
func write(t *testing.T, all []Scale) {
	t.Helper()
	if *scaleFlag == "" {
		return
	}
	data, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*scaleFlag, append(data, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

// check holds a cluster to what is promised of any size.
func (s Scale) check(t *testing.T) {
	t.Helper()
	limits := map[string]time.Duration{"start": time.Minute, "20 joins": time.Minute, "partition": 2 * time.Minute, "crash": time.Minute}
	for _, p := range s.Phases {
		if limit, ok := limits[p.Name]; ok && p.Took > limit {
			t.Errorf("%d nodes, %s: took %v, want at most %v", s.Nodes, p.Name, p.Took, limit)
		}
	}
}
