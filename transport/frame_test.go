package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// scan reads all frames and returns them with the greatest size of the buffer.
func scan(r io.Reader, limit int) (frames [][]byte, buffer int, err error) {
	s := scanner{limit: limit}
	for {
		if err := s.fill(r); err != nil {
			return frames, buffer, err
		}
		buffer = max(buffer, len(s.buf))
		for {
			payload, ok, err := s.next()
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

func TestScanner(t *testing.T) {
	var stream []byte
	sizes := []int{0, 1, 0, 4092, 5, 4096, 65532, 65536, 1 << 20, 7, 200_000, 1}
	for i, size := range sizes {
		stream = appendFrame(stream, bytes.Repeat([]byte{byte(i)}, size))
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

// A large frame's buffer is given up when it has been handled.
func TestScannerShrinks(t *testing.T) {
	s := scanner{limit: 1 << 20}
	r := io.MultiReader(
		bytes.NewReader(appendFrame(nil, make([]byte, 1<<20))),
		bytes.NewReader(appendFrame(nil, []byte("small"))),
	)
	for s.fill(r) == nil {
		if _, _, err := s.next(); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.buf) > busyBuffer {
		t.Errorf("buffer of %d bytes after a small frame, want at most %d", len(s.buf), busyBuffer)
	}
}

func TestREM05LengthIsOnlyAClaim(t *testing.T) {
	const limit = 16 << 20
	for _, claim := range []uint32{limit + 1, 1<<31 - 1, 1 << 31, 1<<32 - 2} {
		_, buffer, err := scan(bytes.NewReader(binary.BigEndian.AppendUint32(nil, claim)), limit)
		var tooLarge *TooLargeError
		if !errors.As(err, &tooLarge) || tooLarge.Limit != limit {
			t.Errorf("claim of %d bytes: got %v, want a TooLargeError", claim, err)
		}
		if buffer > firstBuffer {
			t.Errorf("claim of %d bytes: buffer of %d", claim, buffer)
		}
	}
	for _, arrived := range []int{0, 100, 10_000, 1 << 20} { // of a frame that claims the limit
		data := append(binary.BigEndian.AppendUint32(nil, limit), make([]byte, arrived)...)
		_, buffer, err := scan(bytes.NewReader(data), limit)
		if !errors.Is(err, io.EOF) || buffer > max(2*len(data), busyBuffer) {
			t.Errorf("%d bytes of a frame that claims %d: buffer of %d, %v", arrived, limit, buffer, err)
		}
	}
}

func TestFramesWithin(t *testing.T) {
	var b []byte
	for _, size := range []int{3, 0, 5} {
		b = appendFrame(b, make([]byte, size))
	}
	for n, want := range map[int][2]int{0: {0, 0}, 6: {0, 0}, 7: {1, 3}, 10: {1, 3}, 11: {2, 3}, 19: {2, 3}, 20: {3, 8}} {
		if frames, payload := framesWithin(b, n); frames != want[0] || payload != want[1] {
			t.Errorf("in %d bytes: got %d frames with %d bytes, want %d with %d", n, frames, payload, want[0], want[1])
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(appendGoodbye(appendFrame(appendFrame(nil, []byte("hello")), nil)), uint8(3))
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFE, 1, 2}, uint8(1))
	f.Add([]byte{0, 0, 0, 9, 1}, uint8(200))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		const limit = 1 << 10
		whole, buffer, err := scan(bytes.NewReader(data), limit)
		if buffer > max(2*len(data), busyBuffer) {
			t.Errorf("%d bytes in, buffer of %d", len(data), buffer)
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
