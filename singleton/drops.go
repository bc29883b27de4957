package singleton

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// A Drop is a reason for which a node let go of something. A user's message that is
// dropped is a dead letter; its asker gets an error.
type Drop string

// The reasons.
const (
	DropExpired  Drop = "ask expired while it waited"
	DropPatience Drop = "no instance in time"
	DropFull     Drop = "buffer full"
	DropEnded    Drop = "node ended"
	DropUnsent   Drop = "could not be sent"
	DropFrame    Drop = "frame not understood"
	DropMessage  Drop = "message not understood"
	DropBusy     Drop = "control message not taken, since too many wait"
	DropLane     Drop = "control message not sent"
)

// drops counts what was let go, by reason, and logs the first of each reason at once and
// then one line in each interval at most.
type drops struct {
	log *slog.Logger

	mu   sync.Mutex
	by   map[Drop]uint64
	said map[Drop]time.Time
}

const sayEvery = 10 * time.Second

func (d *drops) add(why Drop, attrs ...slog.Attr) {
	now := time.Now()
	d.mu.Lock()
	d.by[why]++
	count := d.by[why]
	last, before := d.said[why]
	say := !before || now.Sub(last) >= sayEvery
	if say {
		d.said[why] = now
	}
	d.mu.Unlock()
	if say {
		attrs = append(attrs, slog.String("reason", string(why)), slog.Uint64("so far", count))
		d.log.LogAttrs(context.Background(), slog.LevelWarn, "dropped", attrs...)
	}
}

func (d *drops) read() map[Drop]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.by)
}
