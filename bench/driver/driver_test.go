package driver

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-go/troupe/bench/work"
)

var sample = System{
	Works: map[string]Func{
		"tell-1-1": func(r *Run) error {
			sent := 0
			return r.Send(1, func() error { sent++; return nil }, func() (int, error) { return sent, nil })
		},
		"tell-2-1": func(r *Run) error { // loses all
			return r.Send(2, func() error { return nil }, func() (int, error) { return 0, nil })
		},
		"ask-64":       func(*Run) error { return nil },
		"remote-ask-1": func(r *Run) error { return r.AskTimed(1, func(int, int) error { return nil }) },
		"idle-bytes":   func(r *Run) error { return r.Resident(func(int) error { return nil }) },
	},
	Peers: map[string]func([]string) (string, error){
		"echo": func(args []string) (string, error) { return strings.Join(args, "+"), nil },
		"sick": func([]string) (string, error) { return "", errors.New("no port") },
	},
}

func TestCommandLine(t *testing.T) {
	for _, tt := range []struct {
		args, in   string
		want, fail string // the beginning of what is printed; a part of the error
	}{
		{args: "list", want: "tell-1-1\ntell-2-1\nask-64\nidle-bytes\nremote-ask-1\n"},
		{args: "run tell-1-1 -n 100", want: `{"work":"tell-1-1","unit":"msg/s","value":`},
		{args: "run remote-ask-1 -n 100", want: `{"work":"remote-ask-1","unit":"ns","value":`},
		{args: "run idle-bytes -n 100", want: `{"work":"idle-bytes","unit":"B","value":`},
		{args: "run tell-2-1 -n 100", fail: "0 of 10 messages have arrived"},
		{args: "run tell-1-1 -n 0", fail: "at least 1"},
		{args: "run ask-64", fail: "nothing was measured"},
		{args: "run pingpong", fail: "cannot do pingpong"},
		{args: "run nothing", fail: `no work "nothing"`},
		{args: "run tell-1-1 more", fail: "usage:"},
		{args: "peer echo a b", want: "a+b\n"},
		{args: "peer echo a", in: "mallocs\n", want: "a\n"},
		{args: "peer sick", fail: "peer sick: no port"},
		{args: "peer nobody", fail: `no peer "nobody"`},
		{args: "", fail: "usage:"},
	} {
		var out strings.Builder
		err := sample.main(strings.Fields(tt.args), strings.NewReader(tt.in), &out)
		switch {
		case tt.fail == "" && err != nil:
			t.Errorf("%q: %v", tt.args, err)
		case tt.fail != "" && (err == nil || !strings.Contains(err.Error(), tt.fail)):
			t.Errorf("%q: error = %v, want one with %q", tt.args, err, tt.fail)
		case !strings.HasPrefix(out.String(), tt.want):
			t.Errorf("%q printed %q, want it to begin with %q", tt.args, out.String(), tt.want)
		}
	}
}

func TestResultIsOneThatTheRunnerTakes(t *testing.T) {
	for _, name := range []string{"tell-1-1", "remote-ask-1", "idle-bytes"} {
		var out strings.Builder
		if err := sample.main([]string{"run", name, "-n", "1000"}, nil, &out); err != nil {
			t.Fatal(err)
		}
		var r work.Result
		if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
			t.Fatalf("%s printed %q: %v", name, out.String(), err)
		}
		w, _ := work.Find(name)
		if err := r.Check(w); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTogetherDividesAll(t *testing.T) {
	for _, n := range []int{1, 7, 64, 100} {
		var sum atomic.Int64
		if err := together(64, n, func(_, share int) error { sum.Add(int64(share)); return nil }); err != nil || sum.Load() != int64(n) {
			t.Errorf("together(64, %d) did %d, %v", n, sum.Load(), err)
		}
	}
}

func TestQuantileIsByNearestRank(t *testing.T) {
	var sorted []time.Duration
	for i := range 200 {
		sorted = append(sorted, time.Duration(i+1))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 100, 0.99: 198, 1: 200} {
		if got := quantile(sorted, q); got != want {
			t.Errorf("quantile(1..200, %v) = %d, want %d", q, got, want)
		}
	}
	if got := quantile(slices.Repeat([]time.Duration{5}, 1), 0.99); got != 5 {
		t.Errorf("quantile of one = %d, want it", got)
	}
}
