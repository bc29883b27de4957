package wire_test

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/wire"
)

// everything has a field of each kind that travels.
type everything struct {
	Bool    bool
	Ints    []int64
	Uints   map[uint8]uint64
	Floats  [2]float64
	Text    string
	Bytes   []byte
	Line    *line
	Lines   []line
	ByName  map[string]line
	Waits   time.Duration
	Omitted string `cbor:"o,omitempty"`
	Int     int32  `cbor:"1,keyasint"`
}

func (everything) msg() {}

func FuzzDecode(f *testing.F) {
	p := wire.MustProtocol[Msg](
		wire.Message("c", everything{}),
		wire.Message("j", say{}, wire.With(wire.JSON)),
		wire.Request("r", count{}),
	)
	size := 1
	for _, m := range []Msg{
		everything{Text: "x", Line: &line{Who: "y", Size: &size}, Uints: map[uint8]uint64{1: 2}},
		say{Text: "x", At: at},
		count{Of: "x"},
	} {
		data, _, err := p.Append(nil, m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("\x01c\xa1\x65Lines\x9b\x00\x00\x00\x00\x3b\x9a\xca\x00")) // REM-05: a list of 1e9 in 20 bytes
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := p.Decode(data, nil)
		if err != nil {
			return
		}
		once, _, err := p.Append(nil, m)
		if err != nil {
			t.Fatalf("Append of what Decode(%x) gave, %#v: %v", data, m, err)
		}
		back, err := p.Decode(once, nil)
		if err != nil {
			t.Fatalf("Decode(%x) = %#v, which is encoded as %x, which is refused: %v", data, m, once, err)
		}
		if again, _, _ := p.Append(nil, back); !bytes.Equal(once, again) {
			t.Fatalf("Decode(%x) = %#v is encoded as %x, then as %x", data, m, once, again)
		}
	})
}

func TestREM05HugeCountIsRefusedBeforeAllocation(t *testing.T) {
	p := wire.MustProtocol[Msg](wire.Message("c", everything{}))
	for _, data := range [][]byte{
		[]byte("\x01c\xa1\x65Lines\x9b\x00\x00\x00\x00\x3b\x9a\xca\x00"), // a list of 1e9
		[]byte("\x01c\xa1\x65Lines\x9a\x00\x00\xff\xff"),                 // a list within the limit, without its elements
		[]byte("\x01c\xa1\x65Bytes\x5b\x7f\xff\xff\xff\xff\xff\xff\xff"), // bytes of 2^63
		[]byte("\x01c\xbb\x7f\xff\xff\xff\xff\xff\xff\xff"),              // a map of 2^63
	} {
		const runs = 100
		var before, after runtime.MemStats
		var err error
		runtime.ReadMemStats(&before)
		for range runs {
			_, err = p.Decode(data, nil)
		}
		runtime.ReadMemStats(&after)
		got := (after.TotalAlloc - before.TotalAlloc) / runs
		if err == nil || got > 4096 {
			t.Errorf("Decode(%x) = %v and allocated %d bytes; want an error and at most 4096", data, err, got)
		}
	}
}

func TestPropertyRoundtrip(t *testing.T) {
	p := wire.MustProtocol[Msg](wire.Message("c", everything{}))
	lines := rapid.Custom(func(t *rapid.T) line {
		return line{Who: rapid.String().Draw(t, "who"), Size: rapid.Ptr(rapid.Int(), true).Draw(t, "size")}
	})
	rapid.Check(t, func(t *rapid.T) {
		m := everything{
			Bool:    rapid.Bool().Draw(t, "bool"),
			Ints:    rapid.SliceOf(rapid.Int64()).Draw(t, "ints"),
			Uints:   rapid.MapOf(rapid.Uint8(), rapid.Uint64()).Draw(t, "uints"),
			Floats:  [2]float64{rapid.Float64().Draw(t, "float"), 0.5},
			Text:    string(rapid.SliceOf(rapid.Byte()).Draw(t, "text")), // any bytes
			Bytes:   rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"),
			Line:    rapid.Ptr(lines, true).Draw(t, "line"),
			Lines:   rapid.SliceOf(lines).Draw(t, "lines"),
			ByName:  rapid.MapOf(rapid.String(), lines).Draw(t, "by name"),
			Waits:   time.Duration(rapid.Int64().Draw(t, "waits")),
			Omitted: rapid.String().Draw(t, "omitted"),
			Int:     rapid.Int32().Draw(t, "int"),
		}
		back, err := p.Roundtrip(m)
		if err != nil || !equal(back, m) {
			t.Fatalf("Roundtrip(%#v) = %#v, %v; want the same", m, back, err)
		}
	})
}
