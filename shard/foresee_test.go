package shard

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/placement"
)

// A declaration with which 75 shards would take 75 rounds is warned of when it is
// made, not when a node joins at night.
func TestSlowStrategiesAreWarnedOf(t *testing.T) {
	for _, tt := range []struct {
		name     string
		strategy placement.Strategy
		every    time.Duration
		warned   string
	}{
		{"default", nil, 0, ""},
		{"legacy", placement.LeastShardsLegacy{}, 0, "75 shards move in 75 rounds"},
		{"legacy, often", placement.LeastShardsLegacy{}, time.Second, ""},
		{"never", placement.LeastShardsLegacy{}, -1, ""},
	} {
		in(t, func(w *world) {
			var log lockedBuffer
			w.log = slog.New(slog.NewTextHandler(&log, nil))
			n, l := w.start(), newLedger(t)
			declared := l.declare(n)
			declared.Strategy, declared.RebalanceEvery, declared.Shards = tt.strategy, tt.every, 300
			joinOn(t, n, declared)
			got := log.String()
			if warned := strings.Contains(got, "strategy moves shards too slowly"); warned != (tt.warned != "") || !strings.Contains(got, tt.warned) {
				t.Errorf("%s: log %q, want %q in it", tt.name, got, tt.warned)
			}
		})
	}
}
