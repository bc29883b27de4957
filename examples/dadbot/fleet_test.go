package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A fleet is the cluster of one run, in which nodes come, go and are killed, under
// load. Times are those of nodes that nobody has tuned, but Dads joke soon.
type fleet struct {
	t       *testing.T
	house   housing
	dads    []*process // that host Dads now
	edges   []*process // in front of them; none: people come through the dads
	all     []*process // with those of earlier lives
	traffic *traffic
	flags   []string
	dir     string
	ports   []string // three of each node
	seeds   string

	moves  []span // in which nodes left
	kills  []span // after nodes were killed
	killed map[string]time.Time
}

// housing is who decides where Dads live, and whether edges stand in front.
type housing struct {
	placement string // coordinator or ring
	store     string // sqlite or postgres; empty: none
	edges     int
}

func (h housing) String() string {
	parts := []string{h.placement}
	if h.store != "" {
		parts = append(parts, h.store)
	}
	if h.edges > 0 {
		parts = append(parts, fmt.Sprintf("%d edges", h.edges))
	}
	return strings.Join(parts, ", ")
}

const (
	fleetDads = 3
	maxDads   = 5
	// eyesOpen is how long a coordinator must have watched the cluster to give out at
	// once what a killed node hosted, and some more.
	eyesOpen = 8 * time.Second
	// aftermath is for how long after a kill delays are counted as its work.
	aftermath = 6 * time.Second
	// echo is for how long after a node has left its going may be felt.
	echo = 500 * time.Millisecond
)

// startFleet starts the nodes and the load, and waits until nothing stands in the
// way of a quick recovery. storeURL is empty for none.
func startFleet(t *testing.T, h housing, storeURL string) *fleet {
	t.Helper()
	f := &fleet{t: t, house: h, dir: t.TempDir(), killed: make(map[string]time.Time)}
	f.flags = strings.Fields("-quiet 300ms -think 200ms -placement " + h.placement)
	if storeURL != "" {
		f.flags = append(f.flags, "-store", storeURL)
	}
	f.ports = freePorts(t, 3*(maxDads+h.edges))
	f.seeds = strings.Join([]string{f.ports[0], f.ports[3], f.ports[6]}, ",")
	for range fleetDads {
		f.dads = append(f.dads, f.add(len(f.dads)))
	}
	for i := range h.edges {
		f.edges = append(f.edges, f.add(maxDads+i, "-role", "edge"))
	}
	f.wantAll()
	after(eyesOpen)
	f.traffic = startTraffic(f.doors())
	after(trafficRound) // each chat has its Dad
	return f
}

// add starts node i, which finds the others by the seeds or the store.
func (f *fleet) add(i int, flags ...string) *process {
	f.t.Helper()
	p := newProcess(i, f.dir, f.ports[3*i:])
	if f.house.edges > 0 && len(flags) == 0 {
		flags = []string{"-role", "dad"}
	}
	p.start(f.t, slices.Concat(withSeeds(f.flags, f.seeds), flags)...)
	f.all = append(f.all, p)
	return p
}

// doors are where people come in.
func (f *fleet) doors() []*process {
	if len(f.edges) > 0 {
		return f.edges
	}
	return f.dads
}

// wantAll waits until every node is ready and sees all others.
func (f *fleet) wantAll() {
	f.t.Helper()
	nodes := slices.Concat(f.dads, f.edges)
	for _, p := range nodes {
		eventually(f.t, p.label()+" is ready and sees all", func() error { return p.sees(len(nodes)) })
	}
}

// leave has dad i leave gracefully, once people come in elsewhere.
func (f *fleet) leave(i int) (left *process) {
	f.t.Helper()
	left = f.dads[i]
	f.traffic.close(left)
	from := time.Now()
	left.leave(f.t)
	f.t.Logf("%s left in %v", left.label(), time.Since(from).Round(time.Millisecond))
	f.moves = append(f.moves, span{from, time.Now().Add(echo)})
	f.dads = slices.Delete(f.dads, i, i+1)
	return left
}

// kill ends dad i as a crash does, and waits until that is over.
func (f *fleet) kill(i int) (dead *process) {
	f.t.Helper()
	dead = f.dads[i]
	f.traffic.cut(dead)
	at := dead.kill(f.t)
	f.killed[dead.label()] = at
	f.kills = append(f.kills, span{at.Add(-time.Second), at.Add(aftermath)})
	f.dads = slices.Delete(f.dads, i, i+1)
	<-dead.exited
	after(aftermath)
	return dead
}

// back starts a node again as dad i, and waits until it hosts its share.
func (f *fleet) back(i int, p *process) {
	f.t.Helper()
	next := p.again(f.t)
	f.all = append(f.all, next)
	f.dads = slices.Insert(f.dads, i, next)
	f.welcome(next)
}

func (f *fleet) welcome(p *process) {
	f.t.Helper()
	f.wantAll()
	if len(f.edges) == 0 {
		f.traffic.open(p)
	}
	eventually(f.t, p.label()+" hosts Dads", func() error { return p.hosts() })
}

// hosts is an error until shards live on the node.
func (p *process) hosts() error {
	status, body, err := get(p.manage + "/cluster/shards/Dad")
	if err != nil || !strings.Contains(body, `"shardId"`) {
		return fmt.Errorf("%d %s %w", status, body, orNil(err))
	}
	return nil
}

// settle ends the load, waits until Dads have joked about all, and has all nodes leave.
func (f *fleet) settle() outcome {
	f.t.Helper()
	f.traffic.end()
	for _, p := range f.edges {
		if err := p.hosts(); err == nil {
			f.t.Errorf("%s hosts Dads, and is but an edge", p.label())
		}
	}
	var unseated map[string][]time.Time // not known before all have ended
	judge := func() outcome {
		return readLedger(f.t, f.all).judge(f.traffic.due, f.moves, f.kills, f.killed, unseated)
	}
	eventually(f.t, "every message is in a joke", func() error {
		if o := judge(); len(o.lost) > 0 {
			return fmt.Errorf("%d of %d are lost, the first: %s", len(o.lost), o.accepted, o.lost[0])
		}
		return nil
	})
	for _, p := range slices.Concat(f.edges, f.dads) {
		p.leave(f.t)
	}
	unseated = f.unseated()
	return judge()
}

// seatLost is the line of the log that tells that a ring took a node's shards from it.
var seatLost = regexp.MustCompile(`(?m)^time=(\S+) .*msg="this node has lost its seat`)

// unseated is when each node lost its seat, as its log tells: it must have ended.
func (f *fleet) unseated() map[string][]time.Time {
	lost := make(map[string][]time.Time)
	for _, p := range f.all {
		<-p.exited
		for _, line := range seatLost.FindAllSubmatch(p.log.Bytes(), -1) {
			at, err := time.Parse(time.RFC3339Nano, string(line[1]))
			if err != nil {
				f.t.Fatalf("the log of %s: %v", p.label(), err)
			}
			lost[p.label()] = append(lost[p.label()], at)
		}
	}
	return lost
}
