package manage

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard"
)

func TestOperationsOnShards(t *testing.T) {
	for _, tt := range []struct {
		path, form string
		refuses    error
		status     int
		answer     string
		told       []string
	}{
		{"Dad/5", "operation=Move&to=troupe://Sys@10.0.0.2:25520", nil, 200, "Moving shard 5 of Dad to troupe://Sys@10.0.0.2:25520", []string{"move 5 10.0.0.2:25520"}},
		{"Dad/5", "operation=move&to=10.0.0.2:25520", nil, 200, "Moving shard 5 of Dad to troupe://Sys@10.0.0.2:25520", []string{"move 5 10.0.0.2:25520"}},
		{"Dad/%35", "operation=RELEASE", nil, 200, "Releasing shard 5 of Dad", []string{"release 5"}},
		{"Dad/5", "operation=Move&to=troupe://Other@10.0.0.2:25520", nil, 400, "to must be the address of a member, such as troupe://Sys@10.0.0.1:25520", nil},
		{"Dad/5", "operation=Move", nil, 400, "to must be the address of a member, such as troupe://Sys@10.0.0.1:25520", nil},
		{"Dad/5", "operation=Stop", nil, 400, "Operation not supported", nil},
		{"Mum/5", "operation=Release", nil, 404, "Shard Region Mum is not started", nil},
		{"Dad/5", "operation=Release", fmt.Errorf("%w: no", shard.ErrNoShard), 404, "shard: no such shard: no", []string{"release 5"}},
		{"Dad/5", "operation=Release", shard.ErrUnsettled, 409, shard.ErrUnsettled.Error(), []string{"release 5"}},
		{"Dad/5", "operation=Release", shard.ErrComputed, 409, shard.ErrComputed.Error(), []string{"release 5"}},
		{"Dad/5", "operation=Move&to=h:1", shard.ErrUnfit, 409, shard.ErrUnfit.Error(), []string{"move 5 h:1"}},
		{"Dad/5", "operation=Release", shard.ErrUndecided, 503, shard.ErrUndecided.Error(), []string{"release 5"}},
	} {
		dad := &fakeRegion{name: "Dad", refuses: tt.refuses}
		h, _ := handled(threeNodes(), []shard.Region{dad}, Options{Token: token})
		w := send(h, "PUT", "/cluster/shards/"+tt.path, tt.form, "Bearer "+token)
		if got := w.Body.String(); w.Code != tt.status || got != message(tt.answer) || !slices.Equal(dad.told, tt.told) {
			t.Errorf("PUT %s %s = %d %s and told %q, want %d %s and %q", tt.path, tt.form, w.Code, got, dad.told, tt.status, message(tt.answer), tt.told)
		}
		if w := send(h, "PUT", "/cluster/shards/"+tt.path, tt.form, ""); w.Code != 401 || len(dad.told) > len(tt.told) {
			t.Errorf("PUT %s without the token = %d and told %q", tt.path, w.Code, dad.told)
		}
		if w := send(served(threeNodes(), []shard.Region{dad}, Options{}), "PUT", "/cluster/shards/"+tt.path, tt.form, "Bearer "+token); w.Code != 404 {
			t.Errorf("PUT %s on a read-only node = %d, want 404", tt.path, w.Code)
		}
	}
}

func TestClusterShardsDocument(t *testing.T) {
	dad := &fakeRegion{name: "Dad", stats: shard.ClusterStats{
		Regions: []shard.NodeStats{
			{Node: idA, RegionStats: shard.RegionStats{Hosts: true, Shards: []shard.ShardStat{{Shard: "1", Entities: 2}, {Shard: "2"}}}},
			{Node: idB, RegionStats: shard.RegionStats{}}, // only routes
		},
		Silent: []shard.Silence{{Node: idC, Err: errors.New("no answer")}},
	}}
	h := served(threeNodes(), []shard.Region{dad}, Options{})
	const want = `{"regions":{"troupe://Sys@10.0.0.1:25520":{"shards":[{"shardId":"1","numEntities":2},{"shardId":"2","numEntities":0}],"failed":[]}},` +
		`"totalEntities":2,"totalShards":2,"unanswered":{"troupe://Sys@[::1]:25520":"no answer"}}` + "\n"
	if w := do(h, http.MethodGet, "/cluster/shards/Dad/stats"); w.Code != 200 || w.Body.String() != want {
		t.Errorf("stats = %d\n got %s\nwant %s", w.Code, w.Body, want)
	}
	if w := do(h, http.MethodGet, "/cluster/shards/Mum/stats"); w.Code != 404 {
		t.Errorf("stats of a type that was not joined = %d, want 404", w.Code)
	}
	for _, path := range []string{"/cluster/shards/Dad/1/2", "/cluster/shards/Dad/", "/cluster/shards/Dad/1"} {
		if w := do(h, http.MethodGet, path); w.Code != 404 {
			t.Errorf("GET %s = %d, want 404", path, w.Code)
		}
	}
}

func TestWhyOfAnEntity(t *testing.T) {
	since := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	dad := &fakeRegion{name: "Dad", why: shard.Why{
		Type: "Dad", Shard: "320", At: since.Add(5 * time.Second), Home: idB,
		Accounts: []shard.Account{
			{Node: idA, Part: "asked", State: "shard 320: home unknown or moving"},
			{Node: idB, Part: "decides", State: "shard 320: hosted here", Waits: []member.Wait{{
				What: shard.WaitHandOver, Why: "its host stops its entities", Since: since, On: []member.Holdup{{Node: idB, Why: "has not confirmed their end"}},
			}}},
			{Node: idC, Part: "hosts", Err: errors.New("no answer")},
		},
	}}
	h := served(threeNodes(), []shard.Region{dad}, Options{})
	const want = `{"type":"Dad","id":"#a","shardId":"320","at":"2026-11-30T12:00:05Z","home":"troupe://Sys@10.0.0.2:25520","accounts":[` +
		`{"node":"troupe://Sys@10.0.0.1:25520","part":"asked","state":"shard 320: home unknown or moving","waits":[]},` +
		`{"node":"troupe://Sys@10.0.0.2:25520","part":"decides","state":"shard 320: hosted here","waits":[{"what":"hand-over","why":"its host stops its entities",` +
		`"since":"2026-11-30T12:00:00Z","on":[{"node":"troupe://Sys@10.0.0.2:25520","why":"has not confirmed their end"}]}]},` +
		`{"node":"troupe://Sys@[::1]:25520","part":"hosts","waits":[],"error":"no answer"}]}` + "\n"
	if w := do(h, http.MethodGet, "/why?type=Dad&id=%23a"); w.Code != 200 || w.Body.String() != want {
		t.Errorf("why = %d\n got %s\nwant %s", w.Code, w.Body, want)
	}
	for query, status := range map[string]int{"?type=Dad": 400, "?id=1": 400, "?type=Mum&id=1": 404} {
		if w := do(h, http.MethodGet, "/why"+query); w.Code != status {
			t.Errorf("/why%s = %d, want %d", query, w.Code, status)
		}
	}
}

// What waits for too long is told by /why and /ready of its node, and ends /alive
// only when the process is the cause.
func TestHealthTellsOfOverdueWaits(t *testing.T) {
	p := probe(0)
	p.region.registered = true
	p.region.troubles = []shard.Trouble{{Type: "Dad", Shard: "5", Wait: member.Wait{What: shard.WaitHome, Why: "no node takes it"}}}
	p.wantReady(t, "with a shard without a home", 200, "OK\ndegraded: entity type Dad, shard 5: home: no node takes it")
	if w := do(p, http.MethodGet, "/why"); !strings.Contains(w.Body.String(), "entity type Dad, shard 5: no node takes it") {
		t.Errorf("why says %s", w.Body)
	}
	if w := do(p, http.MethodGet, "/alive"); w.Code != 200 {
		t.Errorf("/alive = %d %s", w.Code, w.Body)
	}
	p.region.troubles[0].Fatal = true
	if w := do(p, http.MethodGet, "/alive"); w.Code != 500 || !strings.Contains(w.Body.String(), "shard 5") {
		t.Errorf("/alive with entities that do not end = %d %s", w.Code, w.Body)
	}
	p.region.troubles = slices.Repeat(p.region.troubles, 1000)
	if w := do(p, http.MethodGet, "/ready"); strings.Count(w.Body.String(), "\n") > 7 || !strings.Contains(w.Body.String(), "995 more") {
		t.Errorf("/ready with 1000 troubles: %s", w.Body)
	}
}

func TestDrainedNodeIsNotReady(t *testing.T) {
	p := probe(0)
	p.region.registered = true
	p.node.drained = true
	p.wantReady(t, "drained", 500, "Not Healthy: Check [drain] not ok\nthis node is drained: it gives its shards away until it is resumed")
	if w := do(p, http.MethodGet, "/alive"); w.Code != 200 {
		t.Errorf("/alive of a drained node = %d %s", w.Code, w.Body)
	}
	p.node.drained = false
	p.wantReady(t, "resumed", 200, "OK")
}
