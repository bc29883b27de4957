// Package membertest writes memberships for tests of cores.
package membertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

// DataCenter is that of all members.
const DataCenter = "dc"

// Node is the first incarnation at an address of that name.
func Node(name string) member.ID {
	return member.ID{Address: member.Address{Host: name, Port: 1}, UID: 1}
}

// View gives what self sees of members, the oldest first, each as "name Status" or
// "name Status unreachable". "name Removed exited", or crashed, downed or silent, is a
// member no more, and that is how it went.
func View(t testing.TB, self member.ID, members ...string) *member.View {
	t.Helper()
	v := &member.View{Self: self, DataCenter: DataCenter}
	for i, text := range members {
		name, words, _ := strings.Cut(text, " ")
		word, how, _ := strings.Cut(words, " ")
		status, ok := member.ParseStatus(word)
		end, known := map[string]member.End{"silent": member.Silent, "downed": member.Downed, "exited": member.Exited, "crashed": member.Crashed}[how]
		switch id := Node(name); {
		case !ok, how != "" && known != (status == member.Removed), !known && how != "" && how != "unreachable":
			t.Fatalf("%q says no status, or nothing of a member that is in it", text)
		case status == member.Removed:
			v.Departed = append(v.Departed, member.Departure{ID: id, End: end})
		default:
			m := member.Member{ID: id, Status: status, UpNumber: i + 1, DataCenter: DataCenter}
			if status == member.Joining {
				m.UpNumber = member.NeverUp
			}
			v.Members = append(v.Members, m)
			if how != "" {
				v.Unreachable = append(v.Unreachable, id)
			}
		}
	}
	slices.SortFunc(v.Members, func(a, b member.Member) int { return a.ID.Compare(b.ID) })
	slices.SortFunc(v.Departed, func(a, b member.Departure) int { return a.Compare(b.ID) })
	slices.SortFunc(v.Unreachable, member.ID.Compare)
	return v
}
