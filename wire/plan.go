package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"unsafe"
)

// A plan encodes and decodes one Go type as [CBOR] without reflection. It is made once,
// for types of booleans, integers, strings, []byte and structs of these; others have none.
//
// What it writes is what the codec's library writes, byte for byte. It reads only
// what it writes, integers in longer forms too: whoever uses it gives all else
// to the library, which knows older and newer peers and says what is wrong. So
// a plan decides nothing about strictness; it is a short cut for the common case.
type plan struct {
	kind   reflect.Kind // Slice is []byte
	size   uintptr      // of an integer, in bytes
	fields []planField  // of a struct, in the order of their keys on the wire
}

type planField struct {
	key    []byte // encoded
	offset uintptr
	plan   *plan
}

// planner is a codec that has plans.
type planner interface {
	// plan gives that of t, or nil.
	plan(t reflect.Type) *plan
}

// planOf gives nil if either the codec has no plans or none of t.
func planOf(c Codec, t reflect.Type) *plan {
	if p, ok := c.(planner); ok && t != nil {
		return p.plan(t)
	}
	return nil
}

func (c *cborCodec) plan(t reflect.Type) *plan { return planFor(t, c.rules(), cborDepth) }

func planFor(t reflect.Type, r rules, depth int) *plan {
	if r.builtin[t] || r.ownFormOf(t) != nil {
		return nil
	}
	switch k := t.Kind(); k {
	case reflect.Bool, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &plan{kind: k, size: t.Size()}
	case reflect.Slice:
		if t.Elem() == reflect.TypeFor[byte]() {
			return &plan{kind: k}
		}
	case reflect.Struct:
		if depth > 0 {
			return planForStruct(t, r, depth-1)
		}
	default: // the library's
	}
	return nil
}

func planForStruct(t reflect.Type, r rules, depth int) *plan {
	p := &plan{kind: reflect.Struct}
	for f := range t.Fields() {
		text := r.tagText(f)
		switch {
		case f.Name == "_" && text != "":
			return nil // options of the whole struct
		case f.Name == "_" || text == "-":
			continue
		case f.Anonymous || !f.IsExported() || bytes.ContainsRune([]byte(text), ','):
			return nil
		}
		inner := planFor(f.Type, r, depth)
		if inner == nil {
			return nil
		}
		name := text
		if name == "" {
			name = f.Name
		}
		p.fields = append(p.fields, planField{append(appendHead(nil, cborText, uint64(len(name))), name...), f.Offset, inner})
	}
	slices.SortFunc(p.fields, func(a, b planField) int { return bytes.Compare(a.key, b.key) })
	return p
}

// Major types and simple values of RFC 8949, section 3.
const (
	cborUint  byte = 0 << 5
	cborNeg   byte = 1 << 5
	cborBytes byte = 2 << 5
	cborText  byte = 3 << 5
	cborMap   byte = 5 << 5
	cborFalse byte = 0xf4
	cborTrue  byte = 0xf5
	cborNull  byte = 0xf6
)

// appendHead appends a major type with the shortest form of its argument.
func appendHead(dst []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n <= math.MaxUint8:
		return append(dst, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(dst, major|27), n)
	}
}

// cutHead reads a head; false if it is cut off or has an argument of no definite length.
func cutHead(data []byte) (major byte, n uint64, rest []byte, ok bool) {
	if len(data) == 0 {
		return 0, 0, nil, false
	}
	major, info, data := data[0]&0xe0, data[0]&0x1f, data[1:]
	switch {
	case info < 24:
		return major, uint64(info), data, true
	case info == 24 && len(data) >= 1:
		return major, uint64(data[0]), data[1:], true
	case info == 25 && len(data) >= 2:
		return major, uint64(binary.BigEndian.Uint16(data)), data[2:], true
	case info == 26 && len(data) >= 4:
		return major, uint64(binary.BigEndian.Uint32(data)), data[4:], true
	case info == 27 && len(data) >= 8:
		return major, binary.BigEndian.Uint64(data), data[8:], true
	default:
		return 0, 0, nil, false
	}
}

// append appends the value at v, which is of the plan's type.
func (p *plan) append(dst []byte, v unsafe.Pointer) []byte {
	switch p.kind {
	case reflect.Bool:
		if *(*bool)(v) {
			return append(dst, cborTrue)
		}
		return append(dst, cborFalse)
	case reflect.String:
		s := *(*string)(v)
		return append(appendHead(dst, cborText, uint64(len(s))), s...)
	case reflect.Slice:
		b := *(*[]byte)(v)
		if b == nil {
			return append(dst, cborNull)
		}
		return append(appendHead(dst, cborBytes, uint64(len(b))), b...)
	case reflect.Struct:
		dst = appendHead(dst, cborMap, uint64(len(p.fields)))
		for i := range p.fields {
			f := &p.fields[i]
			dst = f.plan.append(append(dst, f.key...), unsafe.Add(v, f.offset))
		}
		return dst
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := loadInt(v, p.size)
		if n < 0 {
			return appendHead(dst, cborNeg, uint64(^n))
		}
		return appendHead(dst, cborUint, uint64(n))
	default:
		return appendHead(dst, cborUint, loadUint(v, p.size))
	}
}

// decode fills the value at v, which is of the plan's type, from the whole of
// data, and keeps no part of it. After false v may be filled in part.
func (p *plan) decode(data []byte, v unsafe.Pointer) bool {
	if p == nil {
		return false
	}
	rest, ok := p.cut(data, v)
	return ok && len(rest) == 0
}

func (p *plan) cut(data []byte, v unsafe.Pointer) (rest []byte, ok bool) {
	major, n, rest, ok := cutHead(data)
	if !ok {
		return nil, false
	}
	switch p.kind {
	case reflect.Bool:
		*(*bool)(v) = data[0] == cborTrue
		return rest, data[0] == cborTrue || data[0] == cborFalse
	case reflect.String:
		if major != cborText || n > uint64(len(rest)) {
			return nil, false
		}
		*(*string)(v) = string(rest[:n])
		return rest[n:], true
	case reflect.Slice:
		if data[0] == cborNull {
			*(*[]byte)(v) = nil
			return rest, true
		}
		if major != cborBytes || n > uint64(len(rest)) {
			return nil, false
		}
		b := make([]byte, n)
		copy(b, rest)
		*(*[]byte)(v) = b
		return rest[n:], true
	case reflect.Struct:
		if major != cborMap || n != uint64(len(p.fields)) {
			return nil, false
		}
		return p.cutFields(rest, v)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n > math.MaxInt64 || major != cborUint && major != cborNeg {
			return nil, false
		}
		i := int64(n)
		if major == cborNeg {
			i = ^i
		}
		return rest, storeInt(v, p.size, i)
	default:
		return rest, major == cborUint && storeUint(v, p.size, n)
	}
}

func (p *plan) cutFields(data []byte, v unsafe.Pointer) (rest []byte, ok bool) {
	for i := range p.fields {
		f := &p.fields[i]
		if !bytes.HasPrefix(data, f.key) {
			return nil, false
		}
		if data, ok = f.plan.cut(data[len(f.key):], unsafe.Add(v, f.offset)); !ok {
			return nil, false
		}
	}
	return data, true
}

func loadInt(v unsafe.Pointer, size uintptr) int64 {
	switch size {
	case 1:
		return int64(*(*int8)(v))
	case 2:
		return int64(*(*int16)(v))
	case 4:
		return int64(*(*int32)(v))
	default:
		return *(*int64)(v)
	}
}

func loadUint(v unsafe.Pointer, size uintptr) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(v))
	case 2:
		return uint64(*(*uint16)(v))
	case 4:
		return uint64(*(*uint32)(v))
	default:
		return *(*uint64)(v)
	}
}

// storeInt tells whether n has room in size bytes.
func storeInt(v unsafe.Pointer, size uintptr, n int64) bool {
	switch size {
	case 1:
		*(*int8)(v) = int8(n)
	case 2:
		*(*int16)(v) = int16(n)
	case 4:
		*(*int32)(v) = int32(n)
	default:
		*(*int64)(v) = n
	}
	return loadInt(v, size) == n
}

func storeUint(v unsafe.Pointer, size uintptr, n uint64) bool {
	switch size {
	case 1:
		*(*uint8)(v) = uint8(n)
	case 2:
		*(*uint16)(v) = uint16(n)
	case 4:
		*(*uint32)(v) = uint32(n)
	default:
		*(*uint64)(v) = n
	}
	return loadUint(v, size) == n
}
