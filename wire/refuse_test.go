package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/wire"
)

// tellable lets a struct be a Msg.
type tellable struct{}

func (tellable) msg() {}

// onlyOut encodes itself but cannot decode itself.
type onlyOut int

func (onlyOut) MarshalText() ([]byte, error) { return nil, nil }

// byPointer encodes itself, but only as a pointer.
type byPointer struct{}

func (*byPointer) MarshalJSON() ([]byte, error) { return nil, nil }
func (*byPointer) UnmarshalJSON([]byte) error   { return nil }

type scalar int

type tree struct{ Children []tree }

// sink is a codec of the user's own, which may know how to carry anything.
type sink struct{}

func (sink) Name() string                             { return "sink" }
func (sink) Append(dst []byte, _ any) ([]byte, error) { return dst, nil }
func (sink) Decode([]byte, any) error                 { return nil }

// A request may be wrong in its own ways.
type (
	noReply   struct{ tellable }
	twoReply  struct{ A, B actor.Reply[int] }
	forgetful struct{ Reply actor.Reply[int] }
	foreign   struct{ Reply actor.Reply[int] }
)

func (m noReply) WithReply(actor.Reply[int]) Msg   { return m }
func (twoReply) msg()                              {}
func (m twoReply) WithReply(actor.Reply[int]) Msg  { return m }
func (forgetful) msg()                             {}
func (m forgetful) WithReply(actor.Reply[int]) Msg { return m }
func (foreign) msg()                               {}
func (m foreign) WithReply(r actor.Reply[int]) any { m.Reply = r; return m }

func TestNewProtocolRefusesWhatCannotTravel(t *testing.T) {
	type inner struct {
		Refs map[string][]actor.Ref[Msg]
	}
	type secret struct{ hidden int }
	_ = secret{}.hidden
	tests := []struct {
		name  string
		entry wire.Entry
		want  string // in the error
	}{
		{"no name", wire.Message("", open{}), "1 to 128 bytes"},
		{"space in the name", wire.Message("a b", open{}), `not of ' '`},
		{"no type", wire.Message[Msg]("m", nil), "not an interface"},
		{"not an M", wire.Message("m", 5), "int is not a wire_test.Msg"},
		{"nil codec", wire.Message("m", open{}, wire.With(nil)), "codec is nil"},
		{"ref", wire.Message("m", struct {
			tellable
			In []*inner
		}{}), ".In[].Refs[][] is an actor.Ref"},
		{"reply in a told message", wire.Message("m", count{}), "count.Reply is an actor.Reply[int]"},
		{"func", wire.Message("m", struct {
			tellable
			F func()
		}{}), ".F is a func()"},
		{"chan", wire.Message("m", struct {
			tellable
			C map[string]chan int
		}{}), ".C[] is a chan int"},
		{"interface", wire.Message("m", struct {
			tellable
			E error
		}{}), ".E is an interface (error)"},
		{"unexported field", wire.Message("m", struct {
			tellable
			S [2]secret
		}{}), ".S[].hidden is not exported"},
		{"recursion", wire.Message("m", struct {
			tellable
			T tree
		}{}), ".T.Children[]: wire_test.tree contains itself"},
		{"depth", wire.Message("m", struct {
			tellable
			D [][][][][][][][][][][][][][][][]int
		}{}), "deeper than 16"},
		{"half a form", wire.Message("m", struct {
			tellable
			O onlyOut
		}{}), ".O: wire_test.onlyOut is a encoding.TextMarshaler but no encoding.TextUnmarshaler"},
		{"float key", wire.Message("m", struct {
			tellable
			K map[float64]int
		}{}), ".K: a map key cannot be a float64"},
		{"struct key in JSON", wire.Message("m", struct {
			tellable
			K map[struct{ A int }]int
		}{}, wire.With(wire.JSON)), ".K: a map key cannot be a struct"},
		{"pointer receiver in JSON", wire.Message("m", struct {
			tellable
			B byPointer
		}{}, wire.With(wire.JSON)), "does not call it for a value"},
		{"same key twice", wire.Message("m", struct {
			tellable
			A int `cbor:"B"`
			B int
		}{}), "the key B is there twice"},
		{"embedded scalar", wire.Message("m", struct {
			tellable
			scalar
		}{}), ".scalar is embedded"},
		{"reply type", wire.Request("m", refReply{}), "its reply is an actor.Ref"},
		{"request without a reply", wire.Request("m", noReply{}), "has 0 fields of type actor.Reply[int]"},
		{"request with two", wire.Request("m", twoReply{}), "has 2 fields"},
		{"WithReply forgets", wire.Request("m", forgetful{}), "does not return it with field Reply set"},
		{"WithReply gives another type", wire.Request("m", foreign{}), "gives a interface {}, not a wire_test.Msg"},
	}
	for _, tt := range tests {
		_, err := wire.NewProtocol[Msg](tt.entry)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: NewProtocol = %v; want an error with %q", tt.name, err, tt.want)
		}
	}
}

type refReply struct{ Reply actor.Reply[actor.Ref[Msg]] }

func (refReply) msg()                                          {}
func (m refReply) WithReply(r actor.Reply[actor.Ref[Msg]]) Msg { m.Reply = r; return m }

func TestNewProtocolReportsAllProblemsTogether(t *testing.T) {
	_, err := wire.NewProtocol[Msg](
		wire.Message("a", open{}), wire.Message("a", say{}), wire.Message("b", open{}), wire.Message("c", 5))
	for _, want := range []string{
		`message "a": the name is listed twice`,
		`message "b": wire_test.open is listed already, as "a"`,
		`message "c": int is not`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewProtocol = %v; want also %q", err, want)
		}
	}
}

func TestNewProtocolTakesWhatTravels(t *testing.T) {
	for name, e := range map[string]wire.Entry{
		"left out by tag": wire.Message("m", struct {
			tellable
			cache map[string]any `cbor:"-"`
			Func  func()         `json:"-"`
		}{}),
		"anything by an own codec": wire.Message("m", struct {
			tellable
			F func()
		}{}, wire.With(sink{})),
		"own form behind a pointer": wire.Message("m", struct {
			tellable
			B *byPointer
			L []byPointer
			R json.RawMessage
		}{}, wire.With(wire.JSON)),
	} {
		if _, err := wire.NewProtocol[Msg](e); err != nil {
			t.Errorf("%s: NewProtocol = %v; want nil", name, err)
		}
	}
}

func TestMustProtocolPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("MustProtocol of a bad entry returned; want a panic")
		}
	}()
	wire.MustProtocol[Msg](wire.Message("", open{}))
}
