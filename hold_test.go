package troupe

import (
	"testing"
	"testing/synctest"
	"time"
)

// Who was paused again while it was held has to ask again: answers from before
// the second pause may be as old as that.
func TestConfirmationsFromBeforeAPauseDoNotCountAfterIt(t *testing.T) {
	for _, first := range []string{"a pause", "broken links"} {
		synctest.Test(t, func(t *testing.T) {
			var p pulse
			p.start(3 * time.Second)
			p.beat()
			if first == "a pause" {
				time.Sleep(4 * time.Second)
			} else {
				p.cutAt(time.Now())
				time.Sleep(time.Second)
			}
			p.beat()
			before := p.held.Load()
			if before == nil {
				t.Fatalf("after %s the node acts, want it held", first)
			}
			before.confirm(ID{UID: 1})
			p.cutAt(time.Time{})

			time.Sleep(4 * time.Second)
			p.paused()
			now := p.held.Load()
			if now == before || len(now.confirmedBy()) > 0 || !p.hasWoken() {
				t.Errorf("after %s and another pause the same hold goes on with answers of %v, want a new one without", first, now.confirmedBy())
			}
			select {
			case <-before.over:
			default:
				t.Errorf("after %s and another pause: who waits for the former hold waits for ever", first)
			}
			if p.beat(); p.held.Load() != now {
				t.Errorf("after %s: one gap was noticed twice", first)
			}
			if p.paused(); p.held.Load() != now {
				t.Errorf("after %s: a gap that is over was noticed again", first)
			}
		})
	}
}
