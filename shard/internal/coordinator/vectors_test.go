package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/vectortest"
)

func TestVectorsHandoff(t *testing.T) {
	vectortest.Run(t, "handoff", map[string]vectortest.Check{
		"coordinator_state": vectortest.Kind(checkState),
		"rebalance_worker":  vectortest.Kind(checkWorker),
		"entity_transition": vectortest.Kind(checkTransition),
		"entity_starter":    vectortest.Kind(checkStarter),
	})
}

// The vectors name regions by one word.
func node(name string) member.ID {
	return member.ID{Address: member.Address{Host: name, Port: 1}, UID: 1}
}

type stateInput struct {
	Remember bool `json:"remember_entities"`
	Events   []struct {
		Event  string `json:"event"`
		Region string `json:"region"`
		Shard  string `json:"shard"`
	} `json:"events"`
}

type stateWant struct {
	Shards      map[string]string   `json:"shards"`
	Regions     map[string][]string `json:"regions"`
	Proxies     []string            `json:"proxies"`
	Unallocated []string            `json:"unallocated"`
	Refused     *int                `json:"refused_event"`
}

func checkState(t *testing.T, in stateInput, want stateWant) {
	s := NewState(in.Remember)
	refused := -1
	for i, e := range in.Events {
		if err := s.Apply(stateEvent(t, e.Event, e.Region, e.Shard)); err != nil {
			refused = i
			break
		}
	}
	if want := valueOr(want.Refused, -1); refused != want {
		t.Errorf("refused event %d, want %d", refused, want)
	}
	homes := map[string]string{}
	regions := map[string][]string{}
	for _, r := range s.Regions() {
		regions[r.ID.Host] = r.Shards
		for _, shard := range r.Shards {
			home, _ := s.Home(shard)
			homes[shard] = home.Host
		}
	}
	if !maps.Equal(homes, want.Shards) || len(s.homes) != len(want.Shards) {
		t.Errorf("homes %v (of %d), want %v", homes, len(s.homes), want.Shards)
	}
	if !maps.EqualFunc(regions, want.Regions, slices.Equal) {
		t.Errorf("regions %v, want %v", regions, want.Regions)
	}
	if got := hosts(s.Proxies()); !slices.Equal(got, want.Proxies) {
		t.Errorf("proxies %v, want %v", got, want.Proxies)
	}
	if got := s.Orphans(); !slices.Equal(got, want.Unallocated) {
		t.Errorf("unallocated %v, want %v", got, want.Unallocated)
	}
}

func stateEvent(t *testing.T, event, region, shard string) StateEvent {
	t.Helper()
	switch event {
	case "region_registered":
		return RegionRegistered{node(region)}
	case "region_terminated":
		return RegionTerminated{node(region)}
	case "proxy_registered":
		return ProxyRegistered{node(region)}
	case "proxy_terminated":
		return ProxyTerminated{node(region)}
	case "shard_allocated":
		return ShardAllocated{Shard: shard, Region: node(region)}
	case "shard_deallocated":
		return ShardDeallocated{shard}
	}
	t.Fatalf("unknown event %q", event)
	return nil
}

func hosts(ids []member.ID) []string {
	names := []string{}
	for _, id := range ids {
		names = append(names, id.Host)
	}
	return names
}

func valueOr(p *int, otherwise int) int {
	if p == nil {
		return otherwise
	}
	return *p
}

type workerInput struct {
	Shard   string   `json:"shard"`
	From    string   `json:"from"`
	Regions []string `json:"regions"`
	Inputs  []struct {
		Type   string `json:"type"`
		Region string `json:"region"`
	} `json:"inputs"`
}

type workerWant struct {
	Sent [][2]string `json:"sent"`
	Done *struct {
		OK    bool `json:"ok"`
		After int  `json:"after"`
	} `json:"done"`
}

func checkWorker(t *testing.T, in workerInput, want workerWant) {
	if in.Shard == "" {
		t.Fatal("no shard")
	}
	var regions []member.ID
	sent := [][2]string{}
	for _, r := range in.Regions {
		regions = append(regions, node(r))
		sent = append(sent, [2]string{"begin_hand_off", r})
	}
	w := NewWorker(node(in.From), regions)
	done, after := "", -1
	for i, input := range in.Inputs {
		handOff := false
		switch input.Type {
		case "ack":
			handOff = w.Acked(node(input.Region))
		case "region_terminated":
			handOff = w.Terminated(node(input.Region))
		case "shard_stopped":
			w.Stopped()
		case "timeout":
			w.TimedOut()
		default:
			t.Fatalf("unknown input %q", input.Type)
		}
		if handOff {
			sent = append(sent, [2]string{"hand_off", in.From})
		}
		if w.Stage() >= Moved && after < 0 {
			done, after = fmt.Sprint(w.Stage() == Moved), i
		}
	}
	if !slices.Equal(sent, want.Sent) {
		t.Errorf("sent %v, want %v", sent, want.Sent)
	}
	wantDone, wantAfter := "", -1
	if want.Done != nil {
		wantDone, wantAfter = fmt.Sprint(want.Done.OK), want.Done.After
	}
	if done != wantDone || after != wantAfter {
		t.Errorf("done %q after %d, want %q after %d", done, after, wantDone, wantAfter)
	}
}
