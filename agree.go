package troupe

import (
	"fmt"
	"strconv"

	"github.com/troupe-go/troupe/internal/gossip"
)

// agreement lists the settings that all nodes of a cluster must agree on, since
// nodes that differ in them draw different conclusions from the same facts. The
// names are those of [Config]'s fields.
func (s settings) agreement() []gossip.Setting {
	times := s.Times.WithDefaults()
	return []gossip.Setting{
		{Name: "Downing.Strategy", Value: fmt.Sprintf("%s%+v", s.Downing.Strategy.Name(), s.Downing.Strategy)},
		{Name: "Downing.StableAfter", Value: s.Downing.StableAfter.String()},
		{Name: "Times.Heartbeat", Value: times.Heartbeat.String()},
		{Name: "Times.AcceptablePause", Value: times.AcceptablePause.String()},
		{Name: "Times.Isolation", Value: times.Isolation.String()},
		{Name: "NoCrashDetection", Value: strconv.FormatBool(s.NoCrashDetection)},
	}
}
