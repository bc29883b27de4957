package gossip

import (
	"strings"
	"testing"
	"time"
)

func TestTimesAreValidated(t *testing.T) {
	tests := []struct {
		times Times
		want  []string // one part of each problem, in order
	}{
		{Times{}, nil},
		{Times{WeaklyUpAfter: -1, GiveUp: time.Minute}, nil},
		{Times{Heartbeat: 100 * time.Millisecond, AcceptablePause: 700 * time.Millisecond}, nil},
		{Times{Gossip: -time.Second, GiveUp: -1}, []string{"Gossip is -1s", "GiveUp is -1ns"}},
		{Times{Gossip: 1, Heartbeat: time.Millisecond}, []string{"Gossip is 1ns: use at least 10ms", "Heartbeat is 1ms: use at least 10ms"}},
		{Times{AcceptablePause: time.Millisecond}, []string{"AcceptablePause 1ms is less than Heartbeat 1s"}},
		{Times{Heartbeat: 4 * time.Second}, []string{"AcceptablePause 3s is less than Heartbeat 4s"}},
		{Times{JoinRetry: 7 * time.Second}, []string{"SeedTimeout 5s is less than JoinRetry 7s"}},
		{Times{JoinRetry: time.Minute}, []string{"SeedTimeout", "JoinTimeout 10s is less than JoinRetry 1m0s"}},
		{Times{GiveUp: time.Second}, []string{"GiveUp 1s is less than SeedTimeout 5s"}},
	}
	for _, tt := range tests {
		var got []string
		if err := tt.times.Validate(); err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if len(got) != len(tt.want) {
			t.Errorf("%+v: problems %q, want %q", tt.times, got, tt.want)
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%+v: problem %q, want %q in it", tt.times, got[i], want)
			}
		}
	}
}
