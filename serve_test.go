package troupe

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/transport"
)

// Remote refs can be waited for, and their asks are pooled.
var (
	_ actor.PatientDoor[int] = remote[int]{}
	_ actor.Host             = remote[int]{}
)

func TestRefusalOfAFullLaneIsThatOfAFullMailboxToo(t *testing.T) {
	id := ID{UID: 1}
	for _, tt := range []struct {
		cause error
		full  bool
	}{
		{&transport.FullError{Peer: id, Lane: transport.User, Setting: "Config.Queue"}, true},
		{transport.ErrClosed, false},
	} {
		err := &notSent{id, "door", tt.cause}
		if got := errors.Is(err, actor.ErrFull); got != tt.full || !errors.Is(err, tt.cause) {
			t.Errorf("%v: is actor.ErrFull %v, want %v; is its cause %v, want true", err, got, tt.full, errors.Is(err, tt.cause))
		}
	}
}

func TestLoopbackWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoopback(nil)
		for i := range loopbackQueue {
			if err := l.send(transport.User, nil); err != nil {
				t.Fatalf("send %d: %v", i, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.sendWait(ctx, transport.User, nil); !errors.Is(err, transport.ErrFull) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("sendWait without room: %v, want ErrFull and DeadlineExceeded", err)
		}
		outcome := make(chan error)
		go func() { outcome <- l.sendWait(t.Context(), transport.User, nil) }()
		synctest.Wait()
		<-l.queue
		if err := <-outcome; err != nil {
			t.Errorf("sendWait when there is room: %v", err)
		}
	})
}
