package actor_test

import (
	"testing"

	"github.com/troupe-go/troupe/actor"
)

func TestStopReasonNames(t *testing.T) {
	for r, want := range map[actor.StopReason]string{
		actor.Running: "running", actor.Passivated: "passivated", actor.StopReason(9): "unknown",
	} {
		if got := r.String(); got != want {
			t.Errorf("StopReason(%d) = %q, want %q", r, got, want)
		}
	}
}

func TestErrorsSayWhatAndWhere(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&actor.AskError{To: "/it", Request: "pkg.Count", Fate: actor.Handled, Err: actor.ErrNoReply}, "ask /it pkg.Count (handled, unanswered): actor: stopped without a reply"},
		{&actor.AskError{To: "/it", Request: "pkg.Count", Fate: actor.NotHandled, Err: actor.ErrFull}, "ask /it pkg.Count (not handled): actor: mailbox full"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}
