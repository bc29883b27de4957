package transport

import (
	"testing"
	"testing/synctest"

	"github.com/troupe-go/troupe/internal/member"
)

// A batcher counts the frames that came before anything announced them.
type batcher struct {
	tape
	announced   bool // the reader's
	batches     int
	unannounced int
}

func (h *batcher) Batch(_ member.ID, lane Lane) {
	if lane == User {
		h.announced = true
		h.batches++
	}
}

func (h *batcher) Receive(from member.ID, lane Lane, payload []byte) {
	if lane == User && !h.announced {
		h.unannounced++
	}
	h.tape.Receive(from, lane, payload)
}

// Frames that were queued together are read together, and announced once.
func TestBatchIsAnnouncedBeforeItsFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := NewMemory()
		h := new(batcher)
		a, to := node(t, mem, 1, new(tape)), nodeID("10.0.0.2", 2552, 2)
		node(t, mem, 2, h)
		const frames = 100
		for n := range frames {
			sendNumber(t, a, to, n)
		}
		synctest.Wait()
		wantNumbers(t, &h.tape, 0, frames)
		if h.unannounced > 0 || h.batches == 0 || h.batches > frames/2 {
			t.Errorf("%d batches of %d frames, %d frames before the first; want few batches, none before", h.batches, frames, h.unannounced)
		}
	})
}
