package manage

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard"
)

// The names of the node's own checks, as an unhealthy answer gives them.
const (
	checkNode       = "node"
	checkMembership = "cluster-membership"
	checkSharding   = "sharding"
	checkDrain      = "drain"
)

// health is the outcome of one question: what failed, a line each, and what
// does not work although the answer is good.
type health struct {
	failed   []string
	degraded []string
}

func (h health) String() string {
	if len(h.failed) > 0 {
		return strings.Join(h.failed, "\n")
	}
	return strings.Join(append([]string{"OK"}, h.degraded...), "\n")
}

func notOK(check string) health {
	return health{failed: []string{"Not Healthy: Check [" + check + "] not ok"}}
}

func writeHealth(w http.ResponseWriter, h health) {
	status := http.StatusOK
	if len(h.failed) > 0 {
		status = http.StatusInternalServerError
	}
	writeText(w, status, h.String())
}

// healthChecks answers the three questions: may traffic come, should the
// process go on, has it started.
type healthChecks struct {
	node                  node
	types                 types
	readiness             *readiness
	ready, alive, startup checks
}

func newHealthChecks(n node, ts types, now func() time.Time, o Options) *healthChecks {
	return &healthChecks{
		node: n, types: ts,
		readiness: &readiness{limit: o.RegistrationLimit, now: now, types: make(map[string]*typeState)},
		ready:     newChecks(o.Ready, o.CheckLimit),
		alive:     newChecks(o.Alive, o.CheckLimit),
		startup:   newChecks(o.Startup, o.CheckLimit),
	}
}

// ask answers one of the paths. The node's own checks read snapshots and come
// first; the program's run beside each other.
func (h *healthChecks) ask(ctx context.Context, path string) health {
	// A node that has ended keeps its last view, which may still say Up. Nothing
	// short of a new process helps then.
	if isDone(h.node.Done()) {
		return notOK(checkNode)
	}
	var own health
	var program checks
	switch path {
	case "/ready":
		own, program = h.traffic(), h.ready
	case "/startup":
		own, program = h.readiness.started(h.node.View(), h.types.regions()), h.startup
	default:
		own, program = h.life(), h.alive
	}
	own.failed = append(own.failed, program.ask(ctx)...)
	return own
}

// traffic tells whether it may come. A node that was not running was perhaps
// removed meanwhile; its view does not say so yet.
func (h *healthChecks) traffic() health {
	if h.node.Paused() {
		return notOK(checkMembership)
	}
	if h.types.drained() {
		return health{failed: append(notOK(checkDrain).failed, "this node is drained: it gives its shards away until it is resumed")}
	}
	regions := h.types.regions()
	found := h.readiness.check(h.node.View(), regions)
	found.degraded = append(found.degraded, degraded(shard.Health(regions))...)
	return found
}

// life tells whether the process should go on. Entities that do not end, even by
// force, hold up their shards for as long as it does.
func (h *healthChecks) life() (found health) {
	for _, t := range shard.Health(h.types.regions()) {
		if t.Fatal {
			found.failed = append(found.failed, "Health Check Failed: entity type "+t.Type+shardNamed(t.Shard)+": "+t.Wait.String())
		}
	}
	return found
}

// fewTroubles bounds the lines for one type, which may have a thousand shards.
const fewTroubles = 5

// degraded tells of what waits for too long although traffic may come: a shard that
// moves slowly, or has no home, is no reason to send what is for the others away.
func degraded(troubles []shard.Trouble) (lines []string) {
	told := map[string]int{}
	for _, t := range troubles {
		if told[t.Type]++; told[t.Type] <= fewTroubles {
			lines = append(lines, "degraded: entity type "+t.Type+shardNamed(t.Shard)+": "+t.Wait.String())
		}
	}
	for name, n := range told { // any order: sorted below
		if n > fewTroubles {
			lines = append(lines, fmt.Sprintf("degraded: entity type %s: %d more waits are overdue", name, n-fewTroubles))
		}
	}
	slices.Sort(lines)
	return lines
}

// readiness decides when traffic may come.
//
// The membership decides at every call: Up or WeaklyUp. Entity types gate only
// the way up: a type counts as soon as its region has registered with a
// coordinator once, and then for good, because a coordinator that moves must
// not take every node out of the load balancer at once (regions buffer
// meanwhile). A type that nobody coordinates yet, as in a rolling update that
// adds it, holds the node back for at most limit; then the node is ready and
// the answer names the type as degraded.
type readiness struct {
	limit time.Duration
	now   func() time.Time

	mu    sync.Mutex
	types map[string]*typeState
	once  bool // has been ready
}

type typeState struct {
	since      time.Time // first asked for while the node was a ready member
	registered bool
}

func (r *readiness) check(v *member.View, regions []shard.Region) health {
	self, ok := v.SelfMember()
	if !ok || self.Status != member.Up && self.Status != member.WeaklyUp {
		return notOK(checkMembership)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	var h health
	for _, region := range regions {
		name := region.TypeName()
		s := r.types[name]
		if s == nil {
			s = &typeState{since: now}
			r.types[name] = s
		}
		s.registered = s.registered || region.Registered()
		switch {
		case s.registered:
		case now.Sub(s.since) < r.limit:
			h.failed = notOK(checkSharding).failed
		default:
			h.degraded = append(h.degraded, "degraded: entity type "+name+" has found no coordinator yet")
		}
	}
	slices.Sort(h.degraded)
	r.once = r.once || len(h.failed) == 0
	return h
}

// started tells whether the start is over: the node has been ready, or is past
// that. It is never taken back, so that no probe restarts a node that leaves.
func (r *readiness) started(v *member.View, regions []shard.Region) health {
	self, in := v.SelfMember()
	r.mu.Lock()
	over := r.once
	r.mu.Unlock()
	if over {
		return health{}
	}
	switch {
	case !in, self.Status == member.Joining:
		return notOK(checkMembership)
	case self.Status == member.Up, self.Status == member.WeaklyUp:
		return r.check(v, regions)
	default:
		return health{}
	}
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
