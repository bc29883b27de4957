package actor_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/troupe-go/troupe/actor"
)

func TestFates(t *testing.T) {
	cause := errors.New("no home")
	for _, tt := range []struct {
		err  error
		want actor.Fate
	}{
		{cause, actor.Unknown},
		{nil, actor.Unknown},
		{actor.Fated(cause, actor.Unknown), actor.Unknown},
		{actor.Fated(cause, actor.NotHandled), actor.NotHandled},
		{fmt.Errorf("tell it: %w", actor.Fated(cause, actor.Handled)), actor.Handled},
		{actor.Fated(actor.Fated(cause, actor.Handled), actor.NotHandled), actor.Handled},
		{actor.Fated(nil, actor.NotHandled), actor.Unknown},
	} {
		if got := actor.FateOf(tt.err); got != tt.want {
			t.Errorf("fate of %v is %v, want %v", tt.err, got, tt.want)
		}
	}
	if err := actor.Fated(cause, actor.NotHandled); err.Error() != cause.Error() || !errors.Is(err, cause) {
		t.Errorf("marked: %v, want the text and the cause of %v", err, cause)
	}
}
