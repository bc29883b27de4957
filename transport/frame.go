package transport

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// On the wire a frame of up to segmentBytes is the length of its payload in four
// big-endian bytes, then the payload. A larger one comes in parts of that form,
// each with isPart set in its length, the last with isLast too; whole frames may
// come between them, but no parts of another. The length goodbye has no payload:
// nothing follows, and the side that reads it closes the connection when it has
// handled all before it.
const (
	lengthBytes = 4
	isPart      = 1 << 31
	isLast      = 1 << 30
	goodbye     = 1<<32 - 1
)

const (
	firstBuffer = 4 << 10                    // of a connection that has not shown any traffic
	busyBuffer  = lengthBytes + segmentBytes // of one that filled its buffer by a read
)

func appendFrame(b, payload []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}

func appendPart(b, chunk []byte, last bool) []byte {
	length := uint32(len(chunk)) | isPart
	if last {
		length |= isLast
	}
	return append(binary.BigEndian.AppendUint32(b, length), chunk...)
}

func appendGoodbye(b []byte) []byte { return binary.BigEndian.AppendUint32(b, goodbye) }

// framesWithin counts the frames that are complete in the first n bytes of a
// well-formed run of frames and parts, and the bytes of payload there.
func framesWithin(b []byte, n int) (frames, payload int) {
	for at := 0; at+lengthBytes <= n; {
		length := binary.BigEndian.Uint32(b[at:])
		size := int(length &^ (isPart | isLast))
		at += lengthBytes + size
		if at > n {
			break
		}
		if length&isPart == 0 || length&isLast != 0 {
			frames++
		}
		payload += size
	}
	return frames, payload
}

var errGoodbye = errors.New("goodbye")

// A scanner cuts a stream into frames. What it holds grows with the bytes that
// have arrived: a length is only a claim, and 1,000 connections that claim 4 GiB
// each must cost what they sent (see REM-05 in its test).
type scanner struct {
	limit      int // of a payload, at least segmentBytes
	buf        []byte
	start, end int    // what was read and not yet given
	busy       bool   // the last read filled the buffer
	parts      []byte // of a large frame, so far
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

// makeRoom moves what is left to the front, and grows a buffer that is full or
// was filled by one read.
func (s *scanner) makeRoom() {
	left := s.end - s.start
	size := len(s.buf)
	switch {
	case s.busy:
		size = busyBuffer
	case left == size: // also the first time
		size = max(min(2*size, busyBuffer), firstBuffer)
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
	for s.end-s.start >= lengthBytes {
		length := binary.BigEndian.Uint32(s.buf[s.start:])
		if length == goodbye {
			return nil, false, errGoodbye
		}
		size := int(length)
		if length&isPart != 0 {
			size = int(length &^ (isPart | isLast))
		}
		if err := s.allows(size, length&isPart != 0); err != nil {
			return nil, false, err
		}
		from, to := s.start+lengthBytes, s.start+lengthBytes+size
		if to > s.end {
			break
		}
		s.start = to
		body := s.buf[from:to:to] // full slice: an append copies
		if length&isPart == 0 {
			return body, true, nil
		}
		if need := len(s.parts) + size; need > cap(s.parts) { // twice what has come, for append would copy more often
			s.parts = slices.Grow(s.parts, min(2*need, max(need, s.limit))-len(s.parts))
		}
		s.parts = append(s.parts, body...)
		if length&isLast != 0 {
			payload, s.parts = s.parts, nil
			return payload, true, nil
		}
	}
	return nil, false, nil
}

// allows judges a claim before anything is done about it.
func (s *scanner) allows(size int, part bool) error {
	switch {
	case part && len(s.parts)+size > s.limit:
		return &TooLargeError{Size: len(s.parts) + size, Limit: s.limit, Setting: "Config.MaxFrame"}
	case size > segmentBytes && size > s.limit:
		return &TooLargeError{Size: size, Limit: s.limit, Setting: "Config.MaxFrame"}
	case size > segmentBytes:
		return &TooLargeError{Size: size, Limit: segmentBytes, Setting: "in one piece"}
	default:
		return nil
	}
}
