package wire_test

import (
	"testing"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/wire"
)

func BenchmarkAppend(b *testing.B) {
	for _, codec := range []wire.Codec{wire.CBOR, wire.JSON} {
		p := protocol(b, wire.With(codec))
		for name, m := range map[string]Msg{"say": say{Text: "How many nodes?", At: at}, "count": count{Of: "jokes"}} {
			b.Run(codec.Name()+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				buf := make([]byte, 0, 1024)
				for b.Loop() {
					if _, _, err := p.Append(buf, m); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, codec := range []wire.Codec{wire.CBOR, wire.JSON} {
		p := protocol(b, wire.With(codec))
		for name, m := range map[string]Msg{"say": say{Text: "How many nodes?", At: at}, "count": count{Of: "jokes"}} {
			data, _, err := p.Append(nil, m)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(codec.Name()+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Decode(data, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	p := protocol(b)
	var m Msg = say{Text: "How many nodes?"}
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Check(m); err != nil {
			b.Fatal(err)
		}
	}
}

// hit is both the message and all that its actor understands.
type hit struct {
	Body  []byte
	Reply actor.Reply[int64]
}

func (h hit) WithReply(r actor.Reply[int64]) hit { h.Reply = r; return h }

// BenchmarkPlanned: what has a plan costs no more than the memory that the
// message owns.
func BenchmarkPlanned(b *testing.B) {
	p := wire.MustProtocol[hit](wire.Request("bench.hit", hit{}))
	m := hit{Body: make([]byte, 100)}
	data, _, err := p.Append(nil, m)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 1024)
		for b.Loop() {
			if _, _, err := p.Append(buf, m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Decode(data, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
