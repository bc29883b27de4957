package manage

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard"
)

// The names of the checks, as an unhealthy answer gives them.
const (
	checkNode       = "node"
	checkMembership = "cluster-membership"
	checkSharding   = "sharding"
)

// health is the outcome of one question: the check that failed, or none, and
// what does not work although traffic may come.
type health struct {
	failed   string
	degraded []string
}

func (h health) String() string {
	if h.failed != "" {
		return "Not Healthy: Check [" + h.failed + "] not ok"
	}
	return strings.Join(append([]string{"OK"}, h.degraded...), "\n")
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
}

type typeState struct {
	since      time.Time // first asked for while the node was a ready member
	registered bool
}

func (r *readiness) check(v *member.View, regions []shard.Region) health {
	self, ok := v.SelfMember()
	if !ok || self.Status != member.Up && self.Status != member.WeaklyUp {
		return health{failed: checkMembership}
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
			h.failed = checkSharding
		default:
			h.degraded = append(h.degraded, "degraded: entity type "+name+" has found no coordinator yet")
		}
	}
	slices.Sort(h.degraded)
	return h
}

// alive holds until the node has ended: nothing short of a new process helps then.
func alive(done <-chan struct{}) health {
	select {
	case <-done:
		return health{failed: checkNode}
	default:
		return health{}
	}
}
