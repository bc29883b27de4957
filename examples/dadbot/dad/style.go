package dad

import (
	"fmt"

	"github.com/troupe-go/troupe/actor"
)

// Style is how a Dad is written.
type Style string

// The two styles.
const (
	StateMachine Style = "states"
	PlainLoop    Style = "loop"
)

// Start gives the Dad in a style.
func (d Config) Start(s Style) (actor.Start[Msg], error) {
	switch s {
	case StateMachine:
		return d.States(), nil
	case PlainLoop:
		return d.Loop(), nil
	default:
		return nil, fmt.Errorf("style %q is unknown: use %s or %s", s, StateMachine, PlainLoop)
	}
}
