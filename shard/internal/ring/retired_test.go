package ring

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A node that has left is a member for a while yet, and acknowledges nothing.
func TestLeaversThatHaveEndedAreNotWaitedFor(t *testing.T) {
	st := newStage(t, 3, Settings{Shards: 6})
	st.view(nil)
	st.pass(time.Second)
	a, gone := st.actors[0], st.actors[2]
	st.view(map[member.ID]member.Status{gone.id: member.Exiting})
	if got := a.core.others(); !slices.Contains(got, gone.id) {
		t.Errorf("hand-overs wait for %v, want for the leaver too: it may send", got)
	}
	a.core.Step(st.now, NoPort{From: gone.id})
	if got := a.core.others(); slices.Contains(got, gone.id) {
		t.Errorf("hand-overs wait for %v, among them who has ended", got)
	}
	st.view(map[member.ID]member.Status{gone.id: member.Removed})
	if len(a.core.retired) > 0 {
		t.Errorf("%v are remembered, want nobody who was removed", a.core.retired)
	}
}
