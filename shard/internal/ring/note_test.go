package ring

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

func notes() []Note {
	node := member.ID{Address: member.Address{Host: "fe80::1", Port: 65535}, UID: math.MaxInt64}
	return []Note{
		{},
		{Node: node, Agree: "300 shards", Weight: 2.5, Groups: []string{"default", "räume"}, Leaving: true},
		{Node: member.ID{Address: node.Address, UID: -1}, Weight: math.Inf(1)},
	}
}

func TestNotesSurviveTheStore(t *testing.T) {
	for _, want := range notes() {
		data := want.Append(nil)
		if got, err := ParseNote(data); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v (%v), want %+v", got, err, want)
		}
		for n := range data {
			if got, err := ParseNote(data[:n]); !errors.Is(err, ErrNote) {
				t.Errorf("cut to %d of %d bytes: got %+v (%v), want ErrNote", n, len(data), got, err)
			}
		}
		if got, err := ParseNote(append(data, 0)); !errors.Is(err, ErrNote) {
			t.Errorf("with a byte behind: got %+v (%v), want ErrNote", got, err)
		}
	}
}

func FuzzParseNote(f *testing.F) {
	for _, n := range notes() {
		f.Add(n.Append(nil))
	}
	f.Add([]byte{noteVersion, 0xff, 0xff, 0xff, 0xff, 0x0f, 'a'})
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := ParseNote(data)
		switch again := n.Append(nil); {
		case err != nil && !errors.Is(err, ErrNote):
			t.Errorf("%x: %v is not ErrNote", data, err)
		case err == nil && !bytes.Equal(again, data):
			t.Errorf("%x means %+v, which is written as %x", data, n, again)
		}
	})
}
