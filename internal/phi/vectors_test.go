package phi

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/vectortest"
)

func TestVectorsPhi(t *testing.T) {
	vectortest.Run(t, "phi", map[string]vectortest.Check{
		"phi":      vectortest.Kind(checkPhi),
		"history":  vectortest.Kind(checkHistory),
		"detector": vectortest.Kind(checkDetector),
		"registry": vectortest.Kind(checkRegistry),
		"deadline": vectortest.Kind(checkDeadline),
	})
}

func TestVectorsHeartbeatRing(t *testing.T) {
	vectortest.Run(t, "heartbeat_ring", map[string]vectortest.Check{
		"heartbeat_receivers": vectortest.Kind(checkReceivers),
		"heartbeat_state":     vectortest.Kind(checkWatch),
	})
}

// number is a JSON number or the string "inf".
type number float64

func (n *number) UnmarshalJSON(data []byte) error {
	if string(data) == `"inf"` {
		*n = number(math.Inf(1))
		return nil
	}
	return json.Unmarshal(data, (*float64)(n))
}

func near(got, want, tolerance float64) bool {
	return got == want || math.Abs(got-want) <= tolerance
}

func checkPhi(t *testing.T, in struct {
	Diff      float64 `json:"time_diff_ms"`
	Mean      float64 `json:"mean_ms"`
	Deviation float64 `json:"std_dev_ms"`
}, want struct {
	Phi       number     `json:"phi"`
	Range     *[2]number `json:"spec_range"`
	Tolerance float64    `json:"tolerance"`
},
) {
	got := Phi(in.Diff, in.Mean, in.Deviation)
	if !near(got, float64(want.Phi), want.Tolerance) {
		t.Errorf("Phi(%v, %v, %v) = %v, want %v", in.Diff, in.Mean, in.Deviation, got, want.Phi)
	}
	if r := want.Range; r != nil && (got < float64(r[0]) || got > float64(r[1])) {
		t.Errorf("Phi(%v, %v, %v) = %v, want it in %v", in.Diff, in.Mean, in.Deviation, got, *r)
	}
}

func checkHistory(t *testing.T, in struct {
	Limit     int     `json:"max_sample_size"`
	Intervals []int64 `json:"intervals_ms"`
}, want struct {
	After []struct {
		Mean     float64 `json:"mean"`
		Variance float64 `json:"variance"`
	} `json:"after_each"`
	Tolerance float64 `json:"tolerance"`
},
) {
	if len(want.After) != len(in.Intervals) {
		t.Fatalf("%d intervals, %d results", len(in.Intervals), len(want.After))
	}
	h := NewHistory(in.Limit)
	for i, ms := range in.Intervals {
		h.Add(ms)
		w := want.After[i]
		if !near(h.Mean(), w.Mean, want.Tolerance) || !near(h.Variance(), w.Variance, want.Tolerance) {
			t.Errorf("after %v: mean %v, variance %v; want %v, %v", in.Intervals[:i+1], h.Mean(), h.Variance(), w.Mean, w.Variance)
		}
	}
}

type detectorEvent struct {
	At       int64  `json:"at_ms"`
	Op       string `json:"op"`
	Resource string `json:"resource"`
}

type detectorInput struct {
	Settings struct {
		Threshold float64 `json:"threshold"`
		Samples   int     `json:"max_sample_size"`
		Deviation int64   `json:"min_std_dev_ms"`
		Pause     int64   `json:"acceptable_pause_ms"`
		First     int64   `json:"first_heartbeat_estimate_ms"`
	} `json:"settings"`
	Events []detectorEvent `json:"events"`
}

func (in detectorInput) settings() Settings {
	return Settings{
		Threshold: in.Settings.Threshold, MaxSamples: in.Settings.Samples,
		MinStdDeviation: millis(in.Settings.Deviation), AcceptablePause: millis(in.Settings.Pause),
		FirstEstimate: millis(in.Settings.First),
	}
}

type results struct {
	Results   []any   `json:"results"` // null, a boolean, a number or "inf"
	Tolerance float64 `json:"tolerance"`
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// at is a moment after an arbitrary start.
func at(ms int64) time.Time { return time.Unix(1_700_000_000, 0).Add(millis(ms)) }

// replay compares what each event gives with the wanted results.
func (r results) replay(t *testing.T, events []detectorEvent, do func(e detectorEvent, now time.Time) any) {
	t.Helper()
	if len(r.Results) != len(events) {
		t.Fatalf("%d events, %d results", len(events), len(r.Results))
	}
	for i, e := range events {
		got, want := do(e, at(e.At)), r.Results[i]
		if want == "inf" {
			want = math.Inf(1)
		}
		if g, ok := got.(float64); ok {
			w, ok := want.(float64)
			if !ok || !near(g, w, r.Tolerance) {
				t.Errorf("event %d %+v: got %v, want %v", i, e, got, want)
			}
		} else if got != want {
			t.Errorf("event %d %+v: got %v, want %v", i, e, got, want)
		}
	}
}

func checkDetector(t *testing.T, in detectorInput, want results) {
	d := NewDetector(in.settings())
	want.replay(t, in.Events, func(e detectorEvent, now time.Time) any {
		switch e.Op {
		case "heartbeat":
			d.Heartbeat(now)
			return nil
		case "available":
			return d.Available(now)
		case "monitoring":
			return d.Monitoring()
		case "phi":
			return d.Phi(now)
		}
		t.Fatalf("unknown op %q", e.Op)
		return nil
	})
}

func checkRegistry(t *testing.T, in detectorInput, want results) {
	r := NewRegistry(in.settings())
	want.replay(t, in.Events, func(e detectorEvent, now time.Time) any {
		peer := member.ID{Address: member.Address{Host: e.Resource}}
		switch e.Op {
		case "heartbeat":
			r.Heartbeat(peer, now)
			return nil
		case "remove":
			r.Remove(peer)
			return nil
		case "available":
			return r.Available(peer, now)
		case "monitoring":
			return r.Monitoring(peer)
		case "phi":
			return r.Phi(peer, now)
		}
		t.Fatalf("unknown op %q", e.Op)
		return nil
	})
}

func checkDeadline(t *testing.T, in struct {
	Settings struct {
		Pause    int64 `json:"acceptable_pause_ms"`
		Interval int64 `json:"heartbeat_interval_ms"`
	} `json:"settings"`
	Events []detectorEvent `json:"events"`
}, want results,
) {
	d := Deadline{Interval: millis(in.Settings.Interval), Pause: millis(in.Settings.Pause)}
	want.replay(t, in.Events, func(e detectorEvent, now time.Time) any {
		switch e.Op {
		case "heartbeat":
			d.Heartbeat(now)
			return nil
		case "available":
			return d.Available(now)
		case "monitoring":
			return d.Monitoring()
		}
		t.Fatalf("unknown op %q", e.Op)
		return nil
	})
}

// nodes maps the short names of a case to identities and back.
type nodes map[string]struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	UID  int64  `json:"uid"`
}

func (n nodes) id(name string) member.ID {
	node := n[name]
	return member.ID{Address: member.Address{Host: node.Host, Port: node.Port}, UID: node.UID}
}

func (n nodes) ids(names []string) []member.ID {
	ids := make([]member.ID, 0, len(names))
	for _, name := range names {
		ids = append(ids, n.id(name))
	}
	return ids
}

func (n nodes) names(ids []member.ID) []string {
	names := []string{}
	for name := range n {
		if slices.Contains(ids, n.id(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func checkReceivers(t *testing.T, in struct {
	Nodes       nodes    `json:"nodes"`
	Self        string   `json:"self"`
	Ring        []string `json:"nodes_in_ring"`
	Unreachable []string `json:"unreachable"`
	MonitoredBy int      `json:"monitored_by"`
	Sender      string   `json:"sender"`
}, want struct {
	Receivers []string `json:"receivers"`
},
) {
	ring := NewRing(in.MonitoredBy, in.Nodes.ids(append(in.Ring, in.Self)), in.Nodes.ids(in.Unreachable))
	got := in.Nodes.names(ring.Receivers(in.Nodes.id(in.Sender)))
	if !slices.Equal(got, want.Receivers) {
		t.Errorf("receivers of %s in %v, unreachable %v: got %v, want %v", in.Sender, in.Ring, in.Unreachable, got, want.Receivers)
	}
}

func checkWatch(t *testing.T, in struct {
	Nodes       nodes  `json:"nodes"`
	Self        string `json:"self"`
	MonitoredBy int    `json:"monitored_by"`
	Ops         []struct {
		Op          string   `json:"op"`
		Node        string   `json:"node"`
		Nodes       []string `json:"nodes"`
		Unreachable []string `json:"unreachable"`
	} `json:"ops"`
}, want struct {
	Steps []struct {
		Active []string `json:"active"`
		Silent []string `json:"old_unreachable"`
	} `json:"steps"`
	Monitoring  []string `json:"monitoring"`
	Unavailable []string `json:"unavailable"`
},
) {
	if len(want.Steps) != len(in.Ops) {
		t.Fatalf("%d ops, %d steps", len(in.Ops), len(want.Steps))
	}
	now := at(0)
	w := NewWatch(in.Nodes.id(in.Self), in.MonitoredBy, Settings{
		Threshold: 8, MaxSamples: 10, MinStdDeviation: time.Second, FirstEstimate: time.Second,
	})
	for i, op := range in.Ops {
		node := in.Nodes.id(op.Node)
		switch op.Op {
		case "init":
			w.Init(in.Nodes.ids(op.Nodes), in.Nodes.ids(op.Unreachable))
		case "add":
			w.Add(now, node)
		case "remove":
			w.Remove(node, now)
		case "unreachable", "reachable":
			w.Mark(node, op.Op == "unreachable", now)
		case "heartbeat_response":
			w.Response(node, now)
		case "detector_unavailable":
			if at, ok := w.detectors.find(node); ok {
				w.detectors.entries[at].detector.last = now.Add(-time.Hour)
			}
		default:
			t.Fatalf("unknown op %q", op.Op)
		}
		active, silent := in.Nodes.names(w.Receivers()), in.Nodes.names(w.silent)
		if s := want.Steps[i]; !slices.Equal(active, s.Active) || !slices.Equal(silent, s.Silent) {
			t.Fatalf("op %d %+v: active %v, silent %v; want %v, %v", i, op, active, silent, s.Active, s.Silent)
		}
	}
	var monitoring []member.ID
	for _, e := range w.detectors.entries {
		monitoring = append(monitoring, e.peer)
	}
	if got := in.Nodes.names(monitoring); !slices.Equal(got, want.Monitoring) {
		t.Errorf("monitoring %v, want %v", got, want.Monitoring)
	}
	if got := in.Nodes.names(w.Unavailable(now)); !slices.Equal(got, want.Unavailable) {
		t.Errorf("unavailable %v, want %v", got, want.Unavailable)
	}
}
