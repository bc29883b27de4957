package member

import "slices"

// A Departure is a member that was removed, and how it went.
type Departure struct {
	ID
	End End
}

// An End tells how a member went.
type End uint8

// How members go. Of two that were heard of one and the same, the greater one is true:
// it was seen by somebody, while Silent says that nobody had seen anything.
const (
	// Silent: nobody could reach it, while it left. Its process may go on, not knowing
	// that it is no member any more, until it has decided by itself that it is cut off.
	Silent End = iota
	// Downed: it was declared dead, or another incarnation has taken its address. If its
	// process goes on, it decides at about the same time.
	Downed
	// Exited: it has said itself that it was done.
	Exited
	// Crashed: a majority has confirmed that its process is gone.
	Crashed
)

// End tells how a member that was removed lately went; ok is false for others. A
// node that has not seen the removal does not know, and neither does one that
// has seen so many since that it has forgotten.
func (v *View) End(id ID) (end End, ok bool) {
	i, ok := slices.BinarySearchFunc(v.Departed, id, func(d Departure, id ID) int { return d.ID.Compare(id) })
	if !ok {
		return Silent, false
	}
	return v.Departed[i].End, true
}

// Ended tells of a member that was removed lately whether no process is left
// that could act for it. It does not depend on which views between its membership
// and its removal were looked at.
func (v *View) Ended(id ID) bool {
	end, _ := v.End(id)
	return end == Exited || end == Crashed
}
