package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/wire"
)

// Msg is the message type of the tests' actor.
type Msg interface{ msg() }

type (
	open struct{}
	say  struct {
		Text string    `cbor:"1,keyasint" json:"text"`
		At   time.Time `cbor:"2,keyasint" json:"at"`
		To   []string  `cbor:"3,keyasint,omitempty" json:"to,omitempty"`
	}
	count struct {
		Of    string
		Reply actor.Reply[int]
	}
	find struct { // its Reply is not exported and not last
		reply actor.Reply[map[string]line]
		Limit int
	}
	line struct {
		Who  string
		Size *int
	}
	private struct{}
	named   string
	pointed struct{ N int }
)

func (open) msg()     {}
func (say) msg()      {}
func (count) msg()    {}
func (find) msg()     {}
func (private) msg()  {}
func (named) msg()    {}
func (*pointed) msg() {}

func (m count) WithReply(r actor.Reply[int]) Msg            { m.Reply = r; return m }
func (m find) WithReply(r actor.Reply[map[string]line]) Msg { m.reply = r; return m }

func protocol(t testing.TB, opts ...wire.EntryOption) *wire.Protocol[Msg] {
	t.Helper()
	p, err := wire.NewProtocol[Msg](
		wire.Message("test.open", open{}, opts...),
		wire.Message("test.say", say{}, opts...),
		wire.Request("test.count", count{}, opts...),
		wire.Request("test.find", find{}, opts...),
		wire.Message("test.named", named(""), opts...),
		wire.Message("test.pointed", (*pointed)(nil), opts...),
	)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var at = time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.FixedZone("", 3600))

func messages() []Msg {
	return []Msg{
		open{},
		say{Text: "UDP", At: at, To: []string{"a", "b"}},
		say{Text: "not UTF-8 in JSON, but here", At: at},
		count{Of: "jokes"},
		find{Limit: 3},
		named("x"),
		&pointed{7},
	}
}

func TestDecodeIsTheInverseOfAppend(t *testing.T) {
	for _, codec := range []wire.Codec{wire.CBOR, wire.JSON} {
		p := protocol(t, wire.With(codec))
		for _, m := range messages() {
			prefix := []byte("before")
			data, pending, err := p.Append(prefix, m)
			if err != nil || pending != nil || !bytes.HasPrefix(data, prefix) {
				t.Errorf("%s: Append(%#v) = %q, %v, %v; want data behind the prefix, no pending", codec.Name(), m, data, pending, err)
				continue
			}
			got, err := p.Decode(data[len(prefix):], nil)
			if err != nil || !equal(got, m) {
				t.Errorf("%s: Decode(%q) = %#v, %v; want %#v", codec.Name(), data, got, err, m)
			}
		}
	}
}

// equal compares times as instants with an offset, which is what travels.
func equal(a, b Msg) bool {
	x, isSay := a.(say)
	y, both := b.(say)
	if isSay && both {
		_, dx := x.At.Zone()
		_, dy := y.At.Zone()
		return x.At.Equal(y.At) && dx == dy && x.Text == y.Text && reflect.DeepEqual(x.To, y.To)
	}
	return reflect.DeepEqual(a, b)
}

func TestReplyIsNoFieldOnTheWire(t *testing.T) {
	for _, codec := range []wire.Codec{wire.CBOR, wire.JSON} {
		p := protocol(t, wire.With(codec))
		data, _, err := p.Append(nil, count{Of: "jokes"})
		if err != nil || strings.Contains(string(data), "Reply") {
			t.Errorf("%s: Append(count) = %q, %v; want no word of Reply", codec.Name(), data, err)
		}
	}
}

func TestUnnamedMessageIsRefused(t *testing.T) {
	p := protocol(t)
	for _, m := range []Msg{private{}, nil, &say{}} {
		for op, err := range map[string]error{
			"Check":     p.Check(m),
			"Append":    second(p.Append(nil, m)),
			"Roundtrip": last(p.Roundtrip(m)),
		} {
			var typed *wire.NotNamedError
			if !errors.Is(err, wire.ErrNotNamed) || !errors.As(err, &typed) || typed.Type != fmt.Sprintf("%T", m) {
				t.Errorf("%s(%T) = %v; want a NotNamedError that names the type", op, m, err)
			}
		}
	}
	if err := p.Check(open{}); err != nil {
		t.Errorf("Check(open) = %v; want nil", err)
	}
}

func second(_ []byte, _ wire.Pending, err error) error { return err }
func last[T any](_ T, err error) error                 { return err }

func TestUnknownNameIsCounted(t *testing.T) {
	newer := wire.MustProtocol[Msg](wire.Message("test.newer", open{}))
	data, _, err := newer.Append(nil, open{})
	if err != nil {
		t.Fatal(err)
	}
	p := protocol(t)
	if _, err := p.Decode(data, nil); !errors.Is(err, wire.ErrUnknownName) || !strings.Contains(err.Error(), "test.newer") {
		t.Errorf("Decode of a newer name = %v; want ErrUnknownName with the name", err)
	}
	if got := p.Counts().UnknownNames; got != 1 {
		t.Errorf("UnknownNames = %d; want 1", got)
	}
}

type newerSay struct {
	Text  string    `cbor:"1,keyasint" json:"text"`
	Mood  []string  `cbor:"9,keyasint" json:"mood"`
	At    time.Time `cbor:"2,keyasint" json:"at"`
	Extra struct{ A, B int }
}

func (newerSay) msg() {}

func TestUnknownFieldsAreSkippedAndCounted(t *testing.T) {
	for _, codec := range []wire.Codec{wire.CBOR, wire.JSON} {
		newer := wire.MustProtocol[Msg](wire.Message("test.say", newerSay{}, wire.With(codec)))
		data, _, err := newer.Append(nil, newerSay{Text: "hi", Mood: []string{"good"}, At: at})
		if err != nil {
			t.Fatal(err)
		}
		p := protocol(t, wire.With(codec))
		got, err := p.Decode(data, nil)
		if want := (say{Text: "hi", At: at}); err != nil || !equal(got, want) {
			t.Errorf("%s: Decode of a newer say = %#v, %v; want %#v", codec.Name(), got, err, want)
		}
		if got := p.Counts().UnknownFields; got != 1 {
			t.Errorf("%s: UnknownFields = %d; want 1", codec.Name(), got)
		}
	}
}

func TestDecodeRefusesBadData(t *testing.T) {
	p := protocol(t)
	good, _, err := p.Append(nil, say{Text: "hello", At: at})
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		if _, err := p.Decode(good[:i], nil); !errors.Is(err, wire.ErrUndecodable) {
			t.Errorf("Decode of the first %d of %d bytes = %v; want ErrUndecodable", i, len(good), err)
		}
	}
	bad := map[string][]byte{
		"trailing bytes":            append(good[:len(good):len(good)], 0),
		"a name of 2^63 bytes":      {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"a list of 2^32 elements":   append([]byte("\x08test.say\xa1\x03"), 0x9a, 0xff, 0xff, 0xff, 0xff),
		"a duplicate key":           []byte("\x08test.say\xa2\x01\x61a\x01\x61b"),
		"an indefinite length":      []byte("\x08test.say\xbf\x01\x61a\xff"),
		"17 levels":                 []byte("\x08test.say\xa1\x18\x63" + strings.Repeat("\x81", 17) + "\x00"),
		"another kind in the field": []byte("\x08test.say\xa1\x01\x05"),
	}
	for what, data := range bad {
		if _, err := p.Decode(data, nil); !errors.Is(err, wire.ErrUndecodable) {
			t.Errorf("Decode with %s (%x) = %v; want ErrUndecodable", what, data, err)
		}
	}
}

func TestTooLongAListIsRefusedAtTheSender(t *testing.T) {
	p := protocol(t)
	_, _, err := p.Append(nil, say{To: make([]string, 65_537)})
	if !errors.Is(err, wire.ErrUnencodable) {
		t.Errorf("Append of 65,537 elements = %v; want ErrUnencodable", err)
	}
	if got := p.Counts().Unencodable["test.say"]; got != 1 {
		t.Errorf("Unencodable = %d; want 1", got)
	}
	if _, _, err := p.Append(nil, say{Text: strings.Repeat("x", 10<<20), To: make([]string, 65_536)}); err != nil {
		t.Errorf("Append of 10 MiB of text and 65,536 elements = %v; want nil", err)
	}
}

// blob keeps what it decodes, as a careless user's type would.
type blob struct{ data []byte }

func (b blob) MarshalBinary() ([]byte, error)     { return b.data, nil }
func (b *blob) UnmarshalBinary(data []byte) error { b.data = bytes.Clone(data); return nil }

type keeps struct {
	Raw   json.RawMessage
	Bytes []byte
	Blob  blob
	Map   map[string][]byte
}

func (keeps) msg() {}

func TestREM12DecodedMessageOwnsItsMemory(t *testing.T) {
	p := wire.MustProtocol[Msg](wire.Message("test.keeps", keeps{}))
	want := keeps{
		Raw: json.RawMessage(`{"a":1}`), Bytes: []byte("bytes"), Blob: blob{[]byte("blob")},
		Map: map[string][]byte{"key": []byte("value")},
	}
	got, err := p.Roundtrip(want) // overwrites its buffer
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Roundtrip(%v) = %v, %v; want the same", want, got, err)
	}
}

func TestEqualMessagesHaveEqualBytes(t *testing.T) {
	type table struct {
		Msg `cbor:"-"`
		Of  map[string]int
	}
	p := wire.MustProtocol[Msg](wire.Message("test.table", table{}))
	m := table{Of: map[string]int{}}
	for i := range 50 {
		m.Of[fmt.Sprint(i)] = i
	}
	first, _, err := p.Append(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, _, _ := p.Append(nil, m); !bytes.Equal(again, first) {
			t.Fatalf("Append of the same map gave %x, then %x", first, again)
		}
	}
}

// values has one field of each kind of type that has a form of its own.
type values struct {
	Address  netip.Addr
	Number   big.Int
	Pointer  *big.Int
	Duration time.Duration
	When     *time.Time
	Keyed    map[netip.Addr]int
	Pair     [2]struct{ X, Y int }
	Float    float64
}

func (values) msg() {}

func TestTypesWithAFormOfTheirOwnTravel(t *testing.T) {
	addr := netip.MustParseAddr("2001:db8::1")
	when := at.UTC()
	want := values{
		Address: addr, Number: *big.NewInt(7), Pointer: big.NewInt(1).Lsh(big.NewInt(1), 100),
		Duration: time.Minute, When: &when, Keyed: map[netip.Addr]int{addr: 1}, Float: 0.1,
	}
	want.Pair[1].Y = 5
	p := wire.MustProtocol[Msg](wire.Message("test.values", values{}))
	if got, err := p.Roundtrip(want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Roundtrip = %+v, %v; want %+v", got, err, want)
	}
}
