package wire

import (
	"bytes"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

type word string

type inner struct {
	Yes   bool
	Word  word `json:"w"`
	Empty struct{}
}

// planned has all that a plan is made for.
type planned struct {
	Bool   bool
	I      int
	I8     int8
	I16    int16
	I32    int32
	I64    int64
	U      uint
	U8     uint8
	U16    uint16
	U32    uint32
	U64    uint64
	Text   string
	Bytes  []byte `cbor:"b"`
	Inner  inner
	hidden *int   `cbor:"-"` // does not travel and must not be touched
	Longer string `cbor:"a key with more than twenty-three bytes"`
}

func drawPlanned(t *rapid.T) planned {
	v := planned{
		Bool: rapid.Bool().Draw(t, "bool"),
		I:    rapid.Int().Draw(t, "i"), I8: rapid.Int8().Draw(t, "i8"), I16: rapid.Int16().Draw(t, "i16"),
		I32: rapid.Int32().Draw(t, "i32"), I64: rapid.Int64().Draw(t, "i64"),
		U: rapid.Uint().Draw(t, "u"), U8: rapid.Uint8().Draw(t, "u8"), U16: rapid.Uint16().Draw(t, "u16"),
		U32: rapid.Uint32().Draw(t, "u32"), U64: rapid.Uint64().Draw(t, "u64"),
		Text:  string(rapid.SliceOf(rapid.Byte()).Draw(t, "text")),
		Inner: inner{Yes: rapid.Bool().Draw(t, "yes"), Word: word(rapid.String().Draw(t, "word"))},
	}
	if rapid.Bool().Draw(t, "some") {
		v.Bytes = rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes")
	}
	return v
}

func TestPropertyPlanWritesAndReadsAsTheLibrary(t *testing.T) {
	p := planOf(CBOR, reflect.TypeFor[planned]())
	if p == nil {
		t.Fatal("planned has no plan")
	}
	rapid.Check(t, func(t *rapid.T) {
		v := drawPlanned(t)
		got := p.append(nil, unsafe.Pointer(&v))
		want, err := CBOR.Append(nil, v)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("plan wrote %#v as\n%x, the library as\n%x, %v", v, got, want, err)
		}
		var one, other planned
		if !p.decode(got, unsafe.Pointer(&one)) {
			t.Fatalf("the plan does not read %x, which it wrote", got)
		}
		if err := CBOR.Decode(got, &other); err != nil || !reflect.DeepEqual(one, other) {
			t.Fatalf("plan read %x as\n%#v, the library as\n%#v, %v", got, one, other, err)
		}
	})
}

// FuzzPlan: whatever a plan reads, the library reads in the same way, from
// bytes that belong to somebody else.
func FuzzPlan(f *testing.F) {
	p := planOf(CBOR, reflect.TypeFor[planned]())
	for _, v := range []planned{
		{},
		{Bytes: []byte{}, Text: "x", I8: math.MinInt8, U64: math.MaxUint64, I64: math.MinInt64},
		{Bytes: make([]byte, 300), I: -500, U32: 70_000, Inner: inner{Yes: true, Word: "w"}},
	} {
		data := p.append(nil, unsafe.Pointer(&v))
		f.Add(data)
		f.Add(append(data, 0))
		f.Add(data[:len(data)-1])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var one, other planned
		if !p.decode(data, unsafe.Pointer(&one)) {
			return
		}
		if err := CBOR.Decode(data, &other); err != nil || !reflect.DeepEqual(one, other) {
			t.Fatalf("plan read %x as\n%#v, the library as\n%#v, %v", data, one, other, err)
		}
	})
}

func TestPlanIsOnlyForWhatItKnows(t *testing.T) {
	for _, v := range []any{
		struct{ F float64 }{},
		struct{ L []int }{},
		struct{ P *int }{},
		struct{ M map[int]int }{},
		struct{ A [2]byte }{},
		struct {
			O string `cbor:",omitempty"`
		}{},
		struct {
			K int `cbor:"1,keyasint"`
		}{},
		struct {
			_ struct{} `cbor:",toarray"`
			A int
		}{},
		struct{ inner }{},
		struct{ B []word }{},
	} {
		if p := planOf(CBOR, reflect.TypeOf(v)); p != nil {
			t.Errorf("planOf(%T) = %+v, want none", v, p)
		}
	}
	if p := planOf(JSON, reflect.TypeFor[planned]()); p != nil {
		t.Error("JSON has a plan")
	}
}

// TestPlanReadsEachIntegerAsTheLibrary tries all sizes around their bounds.
func TestPlanReadsEachIntegerAsTheLibrary(t *testing.T) {
	type small struct {
		I int8
		U uint16
	}
	p := planOf(CBOR, reflect.TypeFor[small]())
	edges := []uint64{0, 1, 23, 24, 127, 128, 255, 256, 65_535, 65_536, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64}
	for _, major := range []byte{cborUint, cborNeg, cborBytes} {
		for _, n := range edges {
			for _, m := range edges {
				data := appendHead(append(appendHead([]byte{0xa2, 0x61, 'I'}, major, n), 0x61, 'U'), cborUint, m)
				var one, other small
				ok, err := p.decode(data, unsafe.Pointer(&one)), CBOR.Decode(data, &other)
				if ok != (err == nil) || ok && one != other {
					t.Errorf("plan read %x as %+v, %v; the library as %+v, %v", data, one, ok, other, err)
				}
			}
		}
	}
}
