package window

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

var (
	someConfirmations = []Confirmation{
		{Shard: 320, Done: []Range{{1, 1}, {3, 1 << 40}}},
		{Shard: -7, Again: 12, Epoch: protocol.Epoch{Term: 3, N: 17}},
	}
	someHeirs = []Heir{
		{Sender: member.ID{Address: member.Address{Host: "10.0.0.7", Port: 2552}, UID: -9}, Upto: 1 << 33, Carried: 2},
		{},
	}
)

func TestCodes(t *testing.T) {
	confirmations, err := DecodeConfirmations(AppendConfirmations(nil, someConfirmations))
	if err != nil || !reflect.DeepEqual(confirmations, someConfirmations) {
		t.Errorf("decoded %+v, %v; want %+v", confirmations, err, someConfirmations)
	}
	heirs, err := DecodeHeirs(AppendHeirs(nil, someHeirs))
	if err != nil || !reflect.DeepEqual(heirs, someHeirs) {
		t.Errorf("decoded %+v, %v; want %+v", heirs, err, someHeirs)
	}
	question, err := DecodeQuestion(AppendQuestion(nil, Question{5, 900}))
	if err != nil || question != (Question{5, 900}) {
		t.Errorf("decoded %+v, %v; want 5 to 900", question, err)
	}
	whole := AppendConfirmations(nil, someConfirmations[:1])
	for n := 1; n < len(whole); n++ {
		if got, err := DecodeConfirmations(whole[:n]); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d of %d bytes decode as %+v, %v; want ErrMalformed", n, len(whole), got, err)
		}
	}
}

// FuzzDecode: no bytes make a decoder panic or allocate much, and what it takes has a meaning
// that survives another way through it.
func FuzzDecode(f *testing.F) {
	f.Add(AppendConfirmations(nil, someConfirmations))
	f.Add(AppendHeirs(nil, someHeirs))
	f.Add(AppendQuestion(nil, Question{5, 900}))
	f.Add([]byte{0, 0, 1, 0, 0})
	f.Add(bytes.Repeat([]byte{255}, 20))
	f.Fuzz(func(t *testing.T, data []byte) {
		if all, err := DecodeConfirmations(data); err == nil {
			for _, c := range all {
				for i, r := range c.Done {
					if r.Lo == 0 || r.Hi < r.Lo || i > 0 && r.Lo <= c.Done[i-1].Hi {
						t.Errorf("%x decodes with the ranges %v", data, c.Done)
					}
				}
			}
			if again, err := DecodeConfirmations(AppendConfirmations(nil, all)); err != nil || !reflect.DeepEqual(again, all) {
				t.Errorf("%+v comes back as %+v, %v", all, again, err)
			}
		}
		if all, err := DecodeHeirs(data); err == nil {
			if again, err := DecodeHeirs(AppendHeirs(nil, all)); err != nil || !reflect.DeepEqual(again, all) {
				t.Errorf("%+v comes back as %+v, %v", all, again, err)
			}
		}
		if q, err := DecodeQuestion(data); err == nil {
			if again, err := DecodeQuestion(AppendQuestion(nil, q)); err != nil || again != q {
				t.Errorf("%+v comes back as %+v, %v", q, again, err)
			}
		}
	})
}

// A message costs the sender and the owner no memory of its own.
func BenchmarkMessage(b *testing.B) {
	b.ReportAllocs()
	var out Out[int]
	var in In
	for n := range b.N {
		number, after := out.Add(protocol.Epoch{Term: 1}, n)
		if in.Arrive(number, after) != New {
			b.Fatalf("%d is not taken", number)
		}
		in.Handled(number)
		if number%64 == 0 {
			out.Confirm(Range{number - 63, number}, func(*Kept[int]) bool { return false })
		}
	}
}
