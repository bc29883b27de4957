package wire_test

import (
	"testing"

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
