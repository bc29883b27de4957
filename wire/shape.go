package wire

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/actor"
)

// A structural codec works by reflection on Go types, by rules that are known
// here: so a type that would not travel whole is refused, and its fields can be
// listed.
type structural interface {
	Codec
	rules() rules
}

// rules are how a structural codec sees Go types.
type rules struct {
	tags        []string // struct tags that name a field; the first one present counts
	depth       int      // of nested lists, maps and structs at most; 0: no limit
	own         []ownForm
	builtin     map[reflect.Type]bool   // types that the codec itself has a form for
	pointerForm bool                    // methods with a pointer receiver are used for values too
	key         func(reflect.Type) bool // tells whether a map may have such keys
}

// An ownForm is a pair of interfaces by which a type brings its own encoding.
type ownForm struct{ marshal, unmarshal reflect.Type }

func formOf[Marshaler, Unmarshaler any]() ownForm {
	return ownForm{reflect.TypeFor[Marshaler](), reflect.TypeFor[Unmarshaler]()}
}

// ownFormOf gives the first form that t has at least a half of, by methods with
// a value or a pointer receiver.
func (r rules) ownFormOf(t reflect.Type) *ownForm {
	p := reflect.PointerTo(t)
	for i, f := range r.own {
		if p.Implements(f.marshal) || p.Implements(f.unmarshal) {
			return &r.own[i]
		}
	}
	return nil
}

// check tells whether the codec calls both halves of the form for a t.
func (f ownForm) check(t reflect.Type, addressable bool) error {
	p := reflect.PointerTo(t)
	switch {
	case !p.Implements(f.marshal):
		return fmt.Errorf("%v is a %v but no %v", t, f.unmarshal, f.marshal)
	case !p.Implements(f.unmarshal):
		return fmt.Errorf("%v is a %v but no %v", t, f.marshal, f.unmarshal)
	case !t.Implements(f.marshal) && !addressable:
		return fmt.Errorf("*%v is a %v but %v is not, and the codec does not call it for a value", t, f.marshal, t)
	}
	return nil
}

// A walk describes types as one codec sees them, in a notation close to Go's,
// and refuses those that would not travel whole.
type walk struct {
	rules rules
	// name gives the name of a struct and records its fields under it.
	name  func(t reflect.Type, fields []string) string
	path  []reflect.Type // the structs that the walk is in
	depth int
	// addressable: the value that the codec encodes is, so that it finds
	// methods with a pointer receiver.
	addressable bool
}

// whole describes what travels of t; where names the place in errors.
func (w *walk) whole(t reflect.Type, where string) (string, error) {
	if err := refused(t, where); err != nil {
		return "", err
	}
	if w.rules.builtin[t] {
		return t.String(), nil
	}
	if f := w.rules.ownFormOf(t); f != nil {
		if err := f.check(t, w.addressable || w.rules.pointerForm); err != nil {
			return "", fmt.Errorf("%s: %w", where, err)
		}
		return t.String() + " in its own form", nil
	}
	switch k := t.Kind(); k {
	case reflect.Pointer:
		return w.around("*", t.Elem(), where, true)
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		w.depth++
		defer func() { w.depth-- }()
		if w.rules.depth > 0 && w.depth > w.rules.depth {
			return "", fmt.Errorf("%s: nested deeper than %d levels", where, w.rules.depth)
		}
		return w.container(t, where)
	default:
		return k.String(), nil
	}
}

// around describes a type in terms of its element.
func (w *walk) around(prefix string, elem reflect.Type, where string, addressable bool) (string, error) {
	defer func(was bool) { w.addressable = was }(w.addressable)
	w.addressable = addressable
	inner, err := w.whole(elem, where)
	return prefix + inner, err
}

func (w *walk) container(t reflect.Type, where string) (string, error) {
	switch t.Kind() {
	case reflect.Slice:
		return w.around("[]", t.Elem(), where+"[]", true)
	case reflect.Array:
		return w.around("["+strconv.Itoa(t.Len())+"]", t.Elem(), where+"[]", w.addressable)
	case reflect.Map:
		if !w.rules.key(t.Key()) {
			return "", fmt.Errorf("%s: a map key cannot be a %v with this codec", where, t.Key())
		}
		key, err := w.around("", t.Key(), where+"[key]", false)
		if err != nil {
			return "", err
		}
		return w.around("map["+key+"]", t.Elem(), where+"[]", false)
	default: // a struct
		fields, err := w.structFields(t, where)
		if err != nil || t.Name() == "" {
			return "struct{" + strings.Join(fields, "; ") + "}", err
		}
		return w.name(t, fields), nil
	}
}

// refused tells why no codec can carry values of type t.
func refused(t reflect.Type, where string) error {
	if t.PkgPath() == reflect.TypeFor[actor.Error]().PkgPath() {
		switch name, _, _ := strings.Cut(t.Name(), "["); name {
		case "Ref":
			return fmt.Errorf("%s is an %v, which means nothing on another node: send the entity's id", where, t)
		case "Reply":
			return fmt.Errorf("%s is an %v: only a message listed by wire.Request carries one, itself", where, t)
		}
	}
	switch t.Kind() {
	case reflect.Interface:
		return fmt.Errorf("%s is an interface (%v), and the receiver would not know which type to make: use a concrete one", where, t)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Uintptr, reflect.Complex64, reflect.Complex128:
		return fmt.Errorf("%s is a %v, which cannot travel", where, t)
	default:
		return nil
	}
}

// structFields describes the fields of a struct, "key type", sorted by key; in
// order if the codec writes them without keys.
func (w *walk) structFields(t reflect.Type, where string) ([]string, error) {
	if slices.Contains(w.path, t) {
		return nil, fmt.Errorf("%s: %v contains itself, so a value may be endless: send ids instead, or give the type a form of its own", where, t)
	}
	w.path = append(w.path, t)
	defer func() { w.path = w.path[:len(w.path)-1] }()

	var fields []string
	if err := w.collect(t, where, map[string]bool{}, &fields); err != nil {
		return nil, err
	}
	if w.positional(t) {
		return append([]string{"(without keys, in this order)"}, fields...), nil
	}
	slices.Sort(fields)
	return fields, nil
}

func (w *walk) collect(t reflect.Type, where string, keys map[string]bool, fields *[]string) error {
	for f := range t.Fields() {
		at := where + "." + f.Name
		tag := w.tagOf(f)
		switch {
		case tag.skip || f.Name == "_":
			continue
		case f.Anonymous && tag.key == "" && f.Type.Kind() == reflect.Struct && w.rules.ownFormOf(f.Type) == nil:
			if err := w.collect(f.Type, at, keys, fields); err != nil {
				return err
			}
			continue
		case f.Anonymous && tag.key == "":
			return fmt.Errorf("%s is embedded: give it a name", at)
		case !f.IsExported():
			return fmt.Errorf("%s is not exported, so it would not travel: export it, or leave it out by the tag %s:\"-\"", at, w.rules.tags[0])
		}
		key := tag.keyOr(f.Name)
		if keys[key] {
			return fmt.Errorf("%s: the key %s is there twice", at, key)
		}
		keys[key] = true
		typ, err := w.whole(f.Type, at)
		if err != nil {
			return err
		}
		*fields = append(*fields, key+" "+typ+tag.note)
	}
	return nil
}

// fieldTag is what a struct tag says about a field.
type fieldTag struct {
	skip bool
	key  string
	note string // what else changes the bytes
}

func (t fieldTag) keyOr(name string) string {
	if t.key == "" {
		return name
	}
	return t.key
}

// tagText is the tag of a field that counts.
func (r rules) tagText(f reflect.StructField) string {
	for _, name := range r.tags {
		if text := f.Tag.Get(name); text != "" {
			return text
		}
	}
	return ""
}

func (w *walk) tagOf(f reflect.StructField) fieldTag {
	text := w.rules.tagText(f)
	if text == "-" {
		return fieldTag{skip: true}
	}
	key, options, _ := strings.Cut(text, ",")
	t := fieldTag{key: key}
	for o := range strings.SplitSeq(options, ",") {
		switch {
		case o == "keyasint" && w.rules.tags[0] == "cbor":
			t.note = " (key as int)"
		case o == "string" && w.rules.tags[0] == "json":
			t.note = " (as a string)"
		}
	}
	return t
}

// positional tells whether a struct is written as a list, cbor's toarray.
func (w *walk) positional(t reflect.Type) bool {
	f, ok := t.FieldByName("_")
	return ok && w.rules.tags[0] == "cbor" && strings.Contains(f.Tag.Get("cbor"), "array")
}
