package dad

import "github.com/troupe-go/troupe/actor"

// The keys of his timers.
const (
	quietTimer = "quiet"
	thinkTimer = "think"
)

// States is Dad as a state machine: idle, collecting, thinking.
func (d Config) States() actor.Start[Msg] {
	return func(c *actor.Ctx[Msg]) (actor.Behavior[Msg], error) {
		l, err := begin(c, d)
		if err != nil {
			return nil, err
		}
		return (&states{l}).idle, nil
	}
}

type states struct{ *life }

// idle: nothing was said that he has not joked about.
func (s *states) idle(c *actor.Ctx[Msg], m Msg) error {
	switch m := m.(type) {
	case Said:
		if s.listen(m) {
			return s.collect(c)
		}
		return nil
	case Recall:
		return s.answer(m)
	case Told:
		s.inherit(m)
		return nil
	default:
		return actor.ErrUnhandled
	}
}

// collecting: each message starts the wait for silence anew.
func (s *states) collecting(c *actor.Ctx[Msg], m Msg) error {
	switch m := m.(type) {
	case Said:
		if s.listen(m) {
			return s.collect(c)
		}
		return nil
	case Recall:
		return s.answer(m)
	case Told:
		s.inherit(m)
		return nil
	case quiet:
		return s.think(c)
	default:
		return actor.ErrUnhandled
	}
}

// thinking: what is said now becomes the next batch.
func (s *states) thinking(c *actor.Ctx[Msg], m Msg) error {
	switch m := m.(type) {
	case Said:
		s.listen(m)
		return nil
	case Recall:
		return s.answer(m)
	case Told:
		s.inherit(m)
		return nil
	case thought:
		s.quip()
		if s.curious() {
			return s.collect(c)
		}
		c.Become(s.idle)
		return nil
	default:
		return actor.ErrUnhandled
	}
}

func (s *states) collect(c *actor.Ctx[Msg]) error {
	if s.full() {
		return s.think(c)
	}
	c.Become(s.collecting)
	return c.Schedule(quietTimer, s.Quiet, quiet{})
}

func (s *states) think(c *actor.Ctx[Msg]) error {
	c.Cancel(quietTimer)
	s.ponder()
	c.Become(s.thinking)
	return c.Schedule(thinkTimer, s.Think, thought{})
}
