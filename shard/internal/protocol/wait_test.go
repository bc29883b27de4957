package protocol

import (
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

func TestWaitNamesWhoMustAct(t *testing.T) {
	w := Wait{For: "acknowledgement", On: []member.ID{id("a", 1), id("b", 2)}}
	if got, want := w.String(), "acknowledgement, on a:25520#1 b:25520#2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.On = nil
	if got, want := w.String(), "acknowledgement"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
