package transport

import "github.com/troupe-go/troupe/internal/member"

// maxQuarantined bounds the memory of a node that lives through very many
// removals; the oldest is forgotten first.
const maxQuarantined = 16384

// An idSet remembers the last maxQuarantined identities that were added. The
// zero value is empty.
type idSet struct {
	in    map[member.ID]struct{}
	order []member.ID // a ring once it is full
	next  int         // to be overwritten
}

func (s *idSet) has(id member.ID) bool {
	_, ok := s.in[id]
	return ok
}

func (s *idSet) add(id member.ID) {
	if s.has(id) {
		return
	}
	if s.in == nil {
		s.in = make(map[member.ID]struct{})
	}
	s.in[id] = struct{}{}
	if len(s.order) < maxQuarantined {
		s.order = append(s.order, id)
		return
	}
	delete(s.in, s.order[s.next])
	s.order[s.next] = id
	s.next = (s.next + 1) % maxQuarantined
}
