package wire

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// schemaOf describes the entries in their order, and the structs that their
// fields refer to. It fails if a type cannot travel whole, naming the
// field.
//
//	tell NAME CODEC
//		KEY TYPE
//	ask NAME CODEC: TYPE OF THE REPLY
//		KEY TYPE
//	type NAME CODEC
//		KEY TYPE
func schemaOf(entries []Entry) (string, error) {
	s := schema{codecs: map[string]*types{}}
	var b strings.Builder
	var problems []error
	for _, e := range entries {
		text, err := s.entry(e)
		if err != nil {
			problems = append(problems, fmt.Errorf("message %q: %w", e.name, err))
		}
		b.WriteString(text)
	}
	for _, codec := range slices.Sorted(maps.Keys(s.codecs)) {
		b.WriteString(s.codecs[codec].String())
	}
	return b.String(), errors.Join(problems...)
}

// schema collects the structs of each codec.
type schema struct{ codecs map[string]*types }

func (s schema) entry(e Entry) (string, error) {
	message, reply := e.form.types()
	verb, answer := "tell", ""
	c, ok := e.codec.(structural)
	if !ok { // the codec is the user's: how it sees types is not known
		if reply != nil {
			verb, answer = "ask", ": "+reply.String()
		}
		head := fmt.Sprintf("%s %s %s%s", verb, e.name, e.codec.Name(), answer)
		return section(head, []string{e.typ.String() + " in its own form"}), nil
	}
	ts := s.codecs[c.Name()]
	if ts == nil {
		ts = &types{codec: c.Name(), names: map[reflect.Type]string{}, sections: map[string]string{}}
		s.codecs[c.Name()] = ts
	}
	w := ts.walk(c.rules())
	fields, err := w.message(message, e.typ.String())
	if err != nil {
		return "", err
	}
	if reply != nil {
		text, err := w.whole(reply, "its reply")
		if err != nil {
			return "", err
		}
		verb, answer = "ask", ": "+text
	}
	return section(fmt.Sprintf("%s %s %s%s", verb, e.name, c.Name(), answer), fields), nil
}

// message describes what an entry carries: the fields of a struct, or in one
// line a type of another kind.
func (w *walk) message(t reflect.Type, where string) ([]string, error) {
	if t.Kind() == reflect.Pointer {
		t, w.addressable = t.Elem(), true
	}
	if t.Kind() == reflect.Struct && w.rules.ownFormOf(t) == nil && !w.rules.builtin[t] && refused(t, where) == nil {
		w.depth++
		defer func() { w.depth-- }()
		return w.structFields(t, where)
	}
	text, err := w.whole(t, where)
	return []string{text}, err
}

// types are the named structs that one codec carries.
type types struct {
	codec    string
	names    map[reflect.Type]string
	sections map[string]string // by name
}

// walk starts a walk that records the structs it meets.
func (ts *types) walk(r rules) *walk {
	return &walk{rules: r, name: ts.name}
}

func (ts *types) name(t reflect.Type, fields []string) string {
	if name, ok := ts.names[t]; ok {
		return name
	}
	name := t.String()
	for i := 2; ts.sections[name] != ""; i++ { // another package's type of that name
		name = t.String() + "#" + strconv.Itoa(i)
	}
	ts.names[t] = name
	ts.sections[name] = section("type "+name+" "+ts.codec, fields)
	return name
}

func (ts *types) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(ts.sections)) {
		b.WriteString(ts.sections[name])
	}
	return b.String()
}

func section(head string, lines []string) string {
	var b strings.Builder
	b.WriteString(head + "\n")
	for _, line := range lines {
		b.WriteString("\t" + line + "\n")
	}
	return b.String()
}
