package transport

import (
	"encoding/binary"
	"errors"
	"io"
)

// A frame is the length of its payload in four big-endian bytes, then the
// payload. The length goodbye has no payload: nothing follows, and the side that
// reads it closes the connection when it has handled all before it.
const (
	lengthBytes = 4
	goodbye     = 1<<32 - 1
)

const (
	firstBuffer = 4 << 10  // of a connection that has not shown any traffic
	busyBuffer  = 64 << 10 // of one that filled its buffer by a read
)

func appendFrame(b, payload []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}

func appendGoodbye(b []byte) []byte { return binary.BigEndian.AppendUint32(b, goodbye) }

// framesWithin counts the frames that lie wholly in the first n bytes of a
// well-formed run of frames, and the bytes of their payloads.
func framesWithin(b []byte, n int) (frames, payload int) {
	for at := 0; at+lengthBytes <= n; {
		size := int(binary.BigEndian.Uint32(b[at:]))
		at += lengthBytes + size
		if at > n {
			break
		}
		frames++
		payload += size
	}
	return frames, payload
}

var errGoodbye = errors.New("goodbye")

// A scanner cuts a stream into frames. Its buffer grows with the bytes that have
// arrived: a length is only a claim, and 1,000 connections that claim 4 GiB each
// must cost what they sent (see REM-05 in its test).
type scanner struct {
	limit      int // of a payload
	buf        []byte
	start, end int  // what was read and not yet given
	busy       bool // the last read filled the buffer
}

// fill makes room and reads once.
func (s *scanner) fill(r io.Reader) error {
	s.makeRoom()
	n, err := r.Read(s.buf[s.end:])
	s.end += n
	s.busy = s.end == len(s.buf)
	if n > 0 {
		return nil // an error comes again
	}
	return err
}

// makeRoom moves what is left to the front, drops a buffer that a large frame
// needed, and grows a full one.
func (s *scanner) makeRoom() {
	left := s.end - s.start
	size := len(s.buf)
	switch {
	case left == size: // also the first time
		size = min(max(2*size, firstBuffer), max(lengthBytes+s.limit, firstBuffer))
	case s.busy && size < busyBuffer:
		size = busyBuffer
	case size > busyBuffer && left < busyBuffer/2:
		size = busyBuffer
	}
	switch {
	case size != len(s.buf):
		grown := make([]byte, size)
		copy(grown, s.buf[s.start:s.end])
		s.buf = grown
	case s.start > 0:
		copy(s.buf, s.buf[s.start:s.end])
	default:
		return
	}
	s.start, s.end = 0, left
}

// next gives the next complete frame, valid until fill. ok is false when more
// must be read; the error is errGoodbye or a *TooLargeError.
func (s *scanner) next() (payload []byte, ok bool, err error) {
	if s.end-s.start < lengthBytes {
		return nil, false, nil
	}
	size := binary.BigEndian.Uint32(s.buf[s.start:])
	if size == goodbye {
		return nil, false, errGoodbye
	}
	if uint64(size) > uint64(s.limit) {
		return nil, false, &TooLargeError{Size: int(size), Limit: s.limit, Setting: "Config.MaxFrame"}
	}
	from, to := s.start+lengthBytes, s.start+lengthBytes+int(size)
	if to > s.end {
		return nil, false, nil
	}
	s.start = to
	return s.buf[from:to:to], true, nil // full slice: an append copies
}
