package shard

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/seldom"
)

// complaints logs what goes wrong without drowning the log in it: the first of
// each cause at once with all that is known, then at most one line for each cause in
// an interval, with the number of those that were left out. Causes are few and fixed.
type complaints struct {
	log *slog.Logger
	due *seldom.Filter[complaint]
}

type complaint struct{ msg, cause string }

func (c complaint) compare(o complaint) int {
	return cmp.Or(cmp.Compare(c.cause, o.cause), cmp.Compare(c.msg, o.msg))
}

const complainEvery = 10 * time.Second

func newComplaints(log *slog.Logger) *complaints {
	return &complaints{log, seldom.New[complaint](complainEvery)}
}

func (c *complaints) warn(msg, cause string, attrs ...any) {
	if more, due := c.due.Due(time.Now(), complaint{msg, cause}); due {
		c.say(c.log.With(attrs...), complaint{msg, cause}, more)
	}
}

// flush logs, before the node ends, what was left out since the last line of
// each cause: nobody would hear of it later.
func (c *complaints) flush() {
	rest := c.due.Rest()
	for _, cause := range slices.SortedFunc(maps.Keys(rest), complaint.compare) {
		c.say(c.log, cause, rest[cause])
	}
}

func (*complaints) say(log *slog.Logger, c complaint, more int) {
	log.Warn(c.msg, slog.String("reason", c.cause), slog.Int("more", more)) //nolint:sloglint // callers give constants
}
