package protocol

import (
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A Wait tells an operator what something stands still for.
type Wait struct {
	For   string      // such as "acknowledgement of the hand-over"
	On    []member.ID // who must do something; empty when nobody in particular
	Since time.Time   // zero when not known
	Until time.Time   // when it is given up or tried another way; zero for never
}

// String gives one line without the times, which each reader puts in its own form.
func (w Wait) String() string {
	if len(w.On) == 0 {
		return w.For
	}
	on := make([]string, len(w.On))
	for i, id := range w.On {
		on[i] = id.String()
	}
	return fmt.Sprintf("%s, on %s", w.For, strings.Join(on, " "))
}
