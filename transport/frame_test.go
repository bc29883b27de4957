package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// scan reads all frames and returns them with the most bytes that were held.
func scan(r io.Reader, limit int) (frames [][]byte, buffer int, err error) {
	s := scanner{limit: limit}
	for {
		if err := s.fill(r); err != nil {
			return frames, buffer, err
		}
		buffer = max(buffer, len(s.buf)+cap(s.parts))
		for {
			payload, ok, err := s.next()
			buffer = max(buffer, len(s.buf)+cap(s.parts))
			if err != nil {
				return frames, buffer, err
			}
			if !ok {
				break
			}
			frames = append(frames, bytes.Clone(payload))
		}
	}
}

// appendInParts puts a frame on the wire as a queue does.
func appendInParts(b, payload []byte) []byte {
	if len(payload) <= segmentBytes {
		return appendFrame(b, payload)
	}
	for len(payload) > 0 {
		chunk := payload[:min(len(payload), segmentBytes)]
		payload = payload[len(chunk):]
		b = appendPart(b, chunk, len(payload) == 0)
	}
	return b
}

func TestScanner(t *testing.T) {
	var stream []byte
	sizes := []int{0, 1, 0, 4092, 5, 4096, 65532, 65536, 1 << 20, 7, 200_000, 1}
	for i, size := range sizes {
		stream = appendInParts(stream, bytes.Repeat([]byte{byte(i)}, size))
	}
	stream = appendGoodbye(stream)
	for name, r := range map[string]io.Reader{
		"whole":         bytes.NewReader(stream),
		"byte by byte":  iotest.OneByteReader(bytes.NewReader(stream)),
		"halves":        iotest.HalfReader(bytes.NewReader(stream)),
		"data with EOF": iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		frames, _, err := scan(r, 1<<20)
		if !errors.Is(err, errGoodbye) || len(frames) != len(sizes) {
			t.Fatalf("%s: got %d frames, %v, want %d and goodbye", name, len(frames), err, len(sizes))
		}
		for i, frame := range frames {
			if want := bytes.Repeat([]byte{byte(i)}, sizes[i]); !bytes.Equal(frame, want) {
				t.Errorf("%s: frame %d: got %d bytes, want %d of %#x", name, i, len(frame), sizes[i], i)
			}
		}
	}
}

// Frames of others come between the parts of a large one.
func TestScannerBetweenParts(t *testing.T) {
	stream := appendPart(nil, []byte("one "), false)
	stream = appendFrame(stream, []byte("between"))
	stream = appendPart(stream, nil, false)
	stream = appendPart(stream, []byte("large frame"), true)
	stream = appendPart(stream, []byte("and another"), true)
	frames, _, err := scan(bytes.NewReader(stream), maxFrame)
	if got := string(bytes.Join(frames, []byte("|"))); got != "between|one large frame|and another" || !errors.Is(err, io.EOF) {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestREM05LengthIsOnlyAClaim(t *testing.T) {
	const limit = 16 << 20
	refuses := func(what string, data []byte, want int) {
		t.Helper()
		_, held, err := scan(bytes.NewReader(data), limit)
		var tooLarge *TooLargeError
		if !errors.As(err, &tooLarge) || tooLarge.Limit != want {
			t.Errorf("%s: got %v, want a TooLargeError with the limit %d", what, err, want)
		}
		if held > max(2*len(data), firstBuffer) {
			t.Errorf("%s: holds %d bytes of %d", what, held, len(data))
		}
	}
	claim := func(length uint32) []byte { return binary.BigEndian.AppendUint32(nil, length) }
	refuses("a frame of 2 GiB", claim(1<<31-1), limit)
	refuses("a frame beyond the limit", claim(limit+1), limit)
	refuses("a large frame in one piece", claim(segmentBytes+1), segmentBytes)
	refuses("the greatest part", claim(1<<32-2), limit)
	refuses("a part beyond the limit", claim(isPart|limit+1), limit)
	refuses("a large part", claim(isPart|segmentBytes+1), segmentBytes)
	var parts []byte
	for range limit / segmentBytes {
		parts = appendPart(parts, make([]byte, segmentBytes), false)
	}
	refuses("one byte too many in parts", appendPart(parts, []byte{1}, true), limit)

	for _, arrived := range []int{0, 100, 10_000, segmentBytes - 1} { // of a frame that claims the most
		data := append(claim(segmentBytes), make([]byte, arrived)...)
		_, held, err := scan(bytes.NewReader(data), limit)
		if !errors.Is(err, io.EOF) || held > max(2*len(data), busyBuffer) {
			t.Errorf("%d bytes of a frame that claims %d: holds %d, %v", arrived, segmentBytes, held, err)
		}
	}
}

func TestFramesWithin(t *testing.T) {
	var b []byte
	for _, size := range []int{3, 0, 5} {
		b = appendFrame(b, make([]byte, size))
	}
	b = appendPart(appendPart(b, []byte("ab"), false), []byte("c"), true)
	for n, want := range map[int][2]int{0: {0, 0}, 6: {0, 0}, 7: {1, 3}, 10: {1, 3}, 11: {2, 3}, 19: {2, 3}, 20: {3, 8}, 26: {3, 10}, 30: {3, 10}, 31: {4, 11}} {
		if frames, payload := framesWithin(b, n); frames != want[0] || payload != want[1] {
			t.Errorf("in %d bytes: got %d frames with %d bytes, want %d with %d", n, frames, payload, want[0], want[1])
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(appendGoodbye(appendFrame(appendFrame(nil, []byte("hello")), nil)), uint8(3))
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFE, 1, 2}, uint8(1))
	f.Add([]byte{0, 0, 0, 9, 1}, uint8(200))
	f.Add(appendFrame(appendPart(appendPart(nil, []byte("ab"), false), []byte("c"), true), nil), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		const limit = 1 << 10
		whole, buffer, err := scan(bytes.NewReader(data), limit)
		if buffer > 3*len(data)+busyBuffer {
			t.Errorf("%d bytes in, %d held", len(data), buffer)
		}
		pieces, _, err2 := scan(&stepReader{data, max(int(step), 1)}, limit)
		if len(whole) != len(pieces) || err.Error() != err2.Error() {
			t.Fatalf("at once: %d frames, %v; in steps of %d: %d frames, %v", len(whole), err, step, len(pieces), err2)
		}
		for i := range whole {
			if !bytes.Equal(whole[i], pieces[i]) {
				t.Errorf("frame %d: at once % x, in steps % x", i, whole[i], pieces[i])
			}
		}
	})
}

// A stepReader gives so many bytes a time.
type stepReader struct {
	rest []byte
	step int
}

func (r *stepReader) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.rest[:min(r.step, len(r.rest))])
	r.rest = r.rest[n:]
	return n, nil
}
