package troupe

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
)

// agreement lists the settings that all nodes of a cluster must agree on, since
// nodes that differ in them draw different conclusions from the same facts. The
// names are those of [Config]'s fields.
func (s settings) agreement() []gossip.Setting {
	times := s.Times.WithDefaults()
	return []gossip.Setting{
		{Name: "Downing.Strategy", Value: fmt.Sprintf("%s%+v", s.Downing.Strategy.Name(), s.Downing.Strategy)},
		{Name: "Downing.StableAfter", Value: orElse(s.Downing.StableAfter, "by size", "at once")},
		{Name: "Downing.DownAllWhenUnstable", Value: orElse(s.Downing.DownAllWhenUnstable, "by StableAfter", "never")},
		{Name: "NoCrashDetection", Value: fmt.Sprint(s.NoCrashDetection)},
		{Name: "Times.Isolation", Value: times.Isolation.String()},
		{Name: "Times.Heartbeat", Value: times.Heartbeat.String()},
		{Name: "Times.AcceptablePause", Value: times.AcceptablePause.String()},
	}
}

func orElse(d time.Duration, zero, negative string) string {
	switch {
	case d == 0:
		return zero
	case d < 0:
		return negative
	default:
		return d.String()
	}
}
