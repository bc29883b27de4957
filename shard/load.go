package shard

import (
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
)

// A meter counts what the entities of a shard are sent here, for strategies that go
// by it: messages, and bytes of those that came from other nodes.
type meter struct{ messages, bytes atomic.Uint64 }

// loads measures the shards that are hosted here. The loop's.
type loads struct {
	due      time.Time
	readings map[string]*reading
}

const (
	// measureEvery is how often loads are read and told.
	measureEvery = 5 * time.Second
	// loadOver is the time over which rates are averaged.
	loadOver = time.Minute
)

// measuredBy tells whether a strategy may read loads: the user's own may.
func measuredBy(s placement.Strategy) bool {
	switch s := s.(type) {
	case nil, placement.LeastShards, placement.LeastShardsLegacy, placement.ConsistentHashing:
		return false
	case placement.External:
		return measuredBy(s.Otherwise)
	}
	return true
}

func newLoads(s placement.Strategy) *loads {
	if !measuredBy(s) {
		return nil
	}
	return &loads{readings: map[string]*reading{}}
}

// wake is when the loads are to be read; zero for never.
func (l *loads) wake() time.Time {
	if l == nil {
		return time.Time{}
	}
	if l.due.IsZero() {
		l.due = time.Now().Add(measureEvery)
	}
	return l.due
}

// A reading is what is known of the load of one tenure.
type reading struct {
	epoch           protocol.Epoch
	began, at       time.Time
	messages, bytes uint64  // of the meter, then
	perS, bytesPerS float64 // averages
}

// read takes in where the meter stands. Averages are over all of the tenure, once
// that is longer than loadOver over about as long.
func (r *reading) read(now time.Time, messages, bytes uint64) {
	dt := now.Sub(r.at).Seconds()
	if dt <= 0 {
		return
	}
	weight := dt / min(now.Sub(r.began).Seconds(), max(loadOver.Seconds(), dt))
	r.perS += weight * (float64(messages-r.messages)/dt - r.perS)
	r.bytesPerS += weight * (float64(bytes-r.bytes)/dt - r.bytesPerS)
	r.at, r.messages, r.bytes = now, messages, bytes
}

func (r *reading) load(shard string) protocol.Load {
	return protocol.Load{
		Shard: shard, Messages: uint64(1000 * r.perS), Bytes: uint64(1000 * r.bytesPerS),
		Seconds: uint64(r.at.Sub(r.began).Seconds()),
	}
}

// measure reads the loads of all shards that are hosted here and tells them.
func (r *shell[M]) measure(now time.Time) {
	l := r.loads
	l.due = now.Add(measureEvery)
	var told []protocol.Load
	old := l.readings
	l.readings = make(map[string]*reading, len(old))
	for s := range r.allSlots() {
		s.mu.Lock()
		here := s.here
		var epoch protocol.Epoch
		if here != nil {
			epoch = here.epoch
		}
		s.mu.Unlock()
		if here == nil {
			continue
		}
		messages, bytes := s.meter.messages.Load(), s.meter.bytes.Load()
		x := old[s.shard]
		if x == nil || x.epoch != epoch {
			x = &reading{epoch: epoch, began: now, at: now, messages: messages, bytes: bytes}
		} else {
			x.read(now, messages, bytes)
			told = append(told, x.load(s.shard))
		}
		l.readings[s.shard] = x
	}
	r.control.post(region.Measured{Loads: told})
}
