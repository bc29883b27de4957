package manage

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/internal/member"
)

// A reader is a caller of /cluster/domain-events.
type reader struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan struct{}
	status int

	mu     sync.Mutex
	header http.Header
	got    strings.Builder
	stuck  chan struct{} // a write waits until it is closed; nil: none does
}

func (r *reader) Header() http.Header    { return r.header }
func (r *reader) WriteHeader(status int) { r.status = status }
func (r *reader) Flush()                 {}

func (r *reader) Write(p []byte) (int, error) {
	if r.stuck != nil {
		<-r.stuck
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.Write(p)
}

// take gives what has come since the last time.
func (r *reader) take() string {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.got.Reset()
	return r.got.String()
}

func (r *reader) want(when, want string) {
	r.t.Helper()
	if got := r.take(); got != want {
		r.t.Errorf("%s: got\n%s\nwant\n%s", when, got, want)
	}
}

func read(t *testing.T, h http.Handler, query string) *reader {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &reader{t: t, cancel: cancel, done: make(chan struct{}), status: 200, header: http.Header{}}
	go func() {
		defer close(r.done)
		h.ServeHTTP(r, httptest.NewRequestWithContext(ctx, "GET", "/cluster/domain-events"+query, nil))
	}()
	synctest.Wait()
	return r
}

func up(id member.ID) troupe.MemberChanged {
	return troupe.MemberChanged{Member: member.Member{ID: id, Status: member.Up, Roles: []string{"web"}, DataCenter: "default"}, Previous: member.Joining}
}

const (
	upA       = "event:MemberUp\ndata:" + `{"member":{"uniqueAddress":{"address":"troupe://Sys@10.0.0.1:25520","longUid":-1234567890123},"status":"Up","roles":["dc-default","web"],"dataCenter":"default"},"type":"MemberUp"}` + "\n\n"
	upB       = "event:MemberUp\ndata:" + `{"member":{"uniqueAddress":{"address":"troupe://Sys@10.0.0.2:25520","longUid":42},"status":"Up","roles":["dc-default","web"],"dataCenter":"default"},"type":"MemberUp"}` + "\n\n"
	leaderA   = "event:LeaderChanged\ndata:" + `{"address":"troupe://Sys@10.0.0.1:25520","type":"LeaderChanged"}` + "\n\n"
	lastWords = "event:ClusterShuttingDown\ndata:" + `{"type":"ClusterShuttingDown"}` + "\n\n"
)

func TestEventsReplayFollowBeatAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, n := handled(threeNodes(), nil, Options{})
		n.past = []troupe.Event{up(idA), troupe.SeenChanged{}, troupe.LeaderChanged{Leader: idA}}
		n.left = make(chan struct{})
		r := read(t, h, "")
		r.want("at first", upA+leaderA)
		if got := r.header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("Content-Type = %q, want text/event-stream", got)
		}
		n.follow(up(idB))
		r.want("a change", upB)
		time.Sleep(10 * time.Second)
		r.want("after 10 s", ":\n\n")
		n.follow(up(idA))
		close(n.done)
		<-r.done
		<-n.left
		r.want("at the end of the node", upA+lastWords)
	})
}

func TestEventsEndWithTheirReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, n := handled(threeNodes(), nil, Options{})
		n.left = make(chan struct{})
		r := read(t, h, "")
		r.cancel()
		<-r.done
		<-n.left
	})
}

func TestASlowReaderLosesItsStreamAndNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, n := handled(threeNodes(), nil, Options{})
		r := read(t, h, "?type=MemberUp")
		r.stuck = make(chan struct{})
		n.follow(up(idB))
		synctest.Wait() // it writes that, and hangs
		for range streamBuffer + 5 {
			n.follow(up(idA))
			n.follow(troupe.LeaderChanged{}) // not asked for: takes no place
		}
		close(r.stuck)
		<-r.done
		r.want("after falling behind", upB+strings.Repeat(upA, streamBuffer)+": this reader fell more than 128 events behind; connect again\n\n")
	})
}

func TestStreamsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := handled(threeNodes(), nil, Options{Streams: 1})
		first := read(t, h, "")
		if second := read(t, h, ""); second.status != 503 || second.header.Get("Retry-After") == "" {
			t.Errorf("the second stream of one = %d %v, want 503 and Retry-After", second.status, second.header)
		}
		first.cancel()
		<-first.done
		third := read(t, h, "")
		if third.status != 200 {
			t.Errorf("a stream after another has ended = %d, want 200", third.status)
		}
		third.cancel()
		<-third.done
	})
}

func TestEventsByTypeAndClass(t *testing.T) {
	events := []troupe.Event{troupe.MemberRemoved{Member: member.Member{ID: idA, Status: member.Removed}, Previous: member.Exiting}}
	for s := range changed {
		events = append(events, troupe.MemberChanged{Member: member.Member{ID: idA, Status: s}})
	}
	events = append(events, troupe.UnreachableMember{}, troupe.ReachableMember{}, troupe.UnreachableDataCenter{Name: "west"},
		troupe.ReachableDataCenter{Name: "west"}, troupe.LeaderChanged{}, troupe.RoleLeaderChanged{Role: "web", Leader: idB},
		troupe.SeenChanged{}, troupe.ReachabilityChanged{}, troupe.Stalled{}, troupe.AnotherCluster{}, troupe.Ignored{})
	for _, tt := range []struct {
		want   filter
		passed int
	}{
		{nil, 15},
		{filter{"ClusterDomainEvent"}, 15},
		{filter{"MemberEvent"}, 9},
		{filter{"ReachabilityEvent"}, 2},
		{filter{"DataCenterReachabilityEvent"}, 2},
		{filter{"MemberRemoved"}, 1},
		{filter{"MemberUp", "MemberDowned", "LeaderChanged"}, 3},
		{filter{"MemberEvent", "MemberUp"}, 9},
		{filter{"NoSuchEvent"}, 0},
		{filter{"NoSuchEvent", "RoleLeaderChanged"}, 1},
		{filter{""}, 0},
	} {
		passed := 0
		for _, e := range events {
			if doc, ok := eventOf(&fakeNode{}, e); ok && tt.want.passes(doc.Type) {
				passed++
			}
		}
		if passed != tt.passed {
			t.Errorf("of all events, %d pass %q, want %d", passed, tt.want, tt.passed)
		}
	}
}

func TestEventsWithMoreThanAMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, n := handled(threeNodes(), nil, Options{})
		n.past = []troupe.Event{
			troupe.MemberRemoved{Member: member.Member{ID: idB, Status: member.Removed, DataCenter: "default"}, Previous: member.Down},
			troupe.LeaderChanged{},
			troupe.RoleLeaderChanged{Role: "web", Leader: idB},
			troupe.UnreachableDataCenter{Name: "west"},
		}
		r := read(t, h, "")
		r.want("at first", "event:MemberRemoved\ndata:"+
			`{"member":{"uniqueAddress":{"address":"troupe://Sys@10.0.0.2:25520","longUid":42},"status":"Removed","roles":["dc-default"],"dataCenter":"default"},"previousStatus":"Down","type":"MemberRemoved"}`+"\n\n"+
			"event:LeaderChanged\ndata:"+`{"type":"LeaderChanged"}`+"\n\n"+
			"event:RoleLeaderChanged\ndata:"+`{"role":"web","address":"troupe://Sys@10.0.0.2:25520","type":"RoleLeaderChanged"}`+"\n\n"+
			"event:UnreachableDataCenter\ndata:"+`{"dataCenter":"west","type":"UnreachableDataCenter"}`+"\n\n")
		r.cancel()
		<-r.done
	})
}
