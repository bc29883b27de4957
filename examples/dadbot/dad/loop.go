package dad

import (
	"errors"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// Loop is Dad as a function that simply waits for what comes next.
func (d Config) Loop() actor.Start[Msg] {
	return actor.Loop(func(in *actor.Inbox[Msg]) error {
		begun, err := begin(in.Ctx, d)
		if err != nil {
			return err
		}
		l := &loop{begun, in}
		for {
			if err := l.joke(); errors.Is(err, actor.ErrStopped) {
				return nil
			} else if err != nil {
				return err
			}
		}
	})
}

type loop struct {
	*life
	in *actor.Inbox[Msg]
}

// joke waits for something to joke about, then for silence, thinks, and jokes.
func (l *loop) joke() error {
	for !l.curious() {
		m, err := l.in.Next(l.in)
		if err != nil {
			return err
		}
		if _, err := l.take(m); err != nil {
			return err
		}
	}
	if err := l.untilQuiet(); err != nil {
		return err
	}
	l.ponder()
	if err := l.think(); err != nil {
		return err
	}
	l.quip()
	return nil
}

func (l *loop) untilQuiet() error {
	deadline := time.Now().Add(l.Quiet)
	for !l.full() {
		m, ok, err := l.before(deadline)
		if err != nil || !ok {
			return err
		}
		news, err := l.take(m)
		if err != nil {
			return err
		}
		if news {
			deadline = time.Now().Add(l.Quiet)
		}
	}
	return nil
}

func (l *loop) think() error {
	deadline := time.Now().Add(l.Think)
	for {
		m, ok, err := l.before(deadline)
		if err != nil || !ok {
			return err
		}
		if _, err := l.take(m); err != nil {
			return err
		}
	}
}

// before waits for a message until the deadline; ok is false when none came.
func (l *loop) before(deadline time.Time) (m Msg, ok bool, err error) {
	left := time.Until(deadline)
	if left <= 0 { // even when messages come faster than he can hear them
		return nil, false, nil
	}
	return l.in.NextWithin(left)
}

// take handles m whatever he does; news is true for a message of the chat that
// he did not know.
func (l *loop) take(m Msg) (news bool, err error) {
	switch m := m.(type) {
	case Said:
		return l.listen(m), nil
	case Recall:
		return false, l.answer(m)
	case Told:
		l.inherit(m)
		return false, nil
	default:
		return false, actor.ErrUnhandled
	}
}
