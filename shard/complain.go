package shard

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// complaints logs what goes wrong without drowning the log in it: the first of
// each cause at once with all that is known, then at most one line per cause in
// each interval, with the number of those that were left out.
type complaints struct {
	log *slog.Logger

	mu sync.Mutex
	by map[string]*complaint // by cause; causes are few and fixed
}

type complaint struct {
	msg  string
	last time.Time
	more int // since then
}

const complainEvery = 10 * time.Second

func (c *complaints) warn(msg, cause string, attrs ...any) {
	now := time.Now()
	c.mu.Lock()
	if c.by == nil {
		c.by = map[string]*complaint{}
	}
	seen, ok := c.by[cause]
	if !ok {
		seen = &complaint{msg: msg}
		c.by[cause] = seen
	}
	if ok && now.Sub(seen.last) < complainEvery {
		seen.more++
		c.mu.Unlock()
		return
	}
	more := seen.more
	seen.last, seen.more = now, 0
	c.mu.Unlock()
	c.log.With(attrs...).Warn(msg, slog.String("reason", cause), slog.Int("more", more)) //nolint:sloglint // callers give constants
}

// flush logs, before the node ends, what was left out since the last line of
// each cause: nobody would hear of it later.
func (c *complaints) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cause := range slices.Sorted(maps.Keys(c.by)) {
		if seen := c.by[cause]; seen.more > 0 {
			c.log.Warn(seen.msg, slog.String("reason", cause), slog.Int("more", seen.more)) //nolint:sloglint // callers give constants
			seen.more = 0
		}
	}
}
