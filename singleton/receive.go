package singleton

import (
	"encoding/binary"
	"log/slog"
	"slices"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/singleton/internal/owner"
	"github.com/troupe-go/troupe/transport"
)

// Receive takes what other nodes send, on the link's goroutine. When the loop is busy a
// mark waits, which slows that lane of that peer; the control lane never waits.
func (s *shell[M]) Receive(from troupe.ID, _ transport.Lane, frame []byte) {
	<-s.ready
	if len(frame) == 0 {
		s.drops.add(DropFrame, slog.Any("from", from))
		return
	}
	switch rest := frame[1:]; frame[0] {
	case frameControl:
		s.receiveControl(from, rest)
	case frameMessage, frameRelayed, frameReturned:
		s.receiveParcel(from, frame)
	case frameRedirect:
		if len(rest) > 8 {
			if to, _, ok := owner.CutNode(rest[8:]); ok {
				s.node.Redirect(binary.BigEndian.Uint64(rest), to)
				return
			}
		}
		s.drops.add(DropFrame, slog.Any("from", from))
	case frameMark:
		if term, _, ok := owner.CutTerm(rest); ok {
			s.control.mark(owner.Marked{From: from, Term: term})
			return
		}
		s.drops.add(DropFrame, slog.Any("from", from))
	default: // of a newer version
		s.drops.add(DropFrame, slog.Any("from", from), slog.Int("kind", int(frame[0])))
	}
}

// NoPort hears that a node does not have the singleton.
func (s *shell[M]) NoPort(from troupe.ID) {
	if !s.control.take(owner.NoPort{From: from}) {
		s.drops.add(DropBusy, slog.Any("from", from))
	}
}

func (s *shell[M]) receiveControl(from troupe.ID, frame []byte) {
	m, err := owner.Decode(frame)
	switch {
	case err != nil:
		s.drops.add(DropFrame, slog.Any("from", from), slog.Any("error", err))
	case !s.control.take(owner.Received{From: from, Msg: m}):
		s.drops.add(DropBusy, slog.Any("from", from))
	}
}

func (s *shell[M]) receiveParcel(from troupe.ID, frame []byte) {
	now := time.Now()
	p, err := openParcel(from, frame, now)
	if err != nil {
		s.drops.add(DropFrame, slog.Any("from", from), slog.Any("error", err))
		return
	}
	if p.correlation == 0 || p.asker == s.self {
		p.asker = troupe.ID{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case frame[0] == frameReturned:
		p.body = slices.Clone(p.body)
		s.accept(&s.back, p)
		s.control.posts.Add(owner.Stray{From: from})
	case s.over || s.here.ending || s.here.cell == nil && s.route.Node != s.self:
		s.giveBack(from, p)
	default:
		s.arrive(p)
	}
}

// arrive takes a message for the instance here, behind those that wait for its mailbox.
func (s *shell[M]) arrive(p parcel) {
	if len(s.here.inbox) == 0 && s.takes() {
		if err := s.deliver(p); err == nil {
			return
		} else if !waits(err) {
			s.drop(p, DropMessage, err)
			return
		}
	}
	p.body = slices.Clone(p.body) // it is the link's
	s.accept(&s.here.inbox, p)
}

// giveBack returns a message to the node that sent it, which knows better, or soon will.
func (s *shell[M]) giveBack(to troupe.ID, p parcel) {
	if p.correlation != 0 && p.asker.IsZero() {
		p.asker = s.self
	}
	if err := s.port.Send(to, s.lane, append(p.head(nil, frameReturned, time.Now()), p.body...)); err != nil {
		s.drop(p, DropUnsent, err)
	}
}
