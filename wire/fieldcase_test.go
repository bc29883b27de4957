package wire_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/wire"
)

// job is carried by a codec that panics on every tenth.
type job struct{ N int }

func (job) msg() {}

// check is a request that the codec cannot encode.
type check struct{ Reply actor.Reply[int] }

func (check) msg()                               {}
func (m check) WithReply(r actor.Reply[int]) Msg { m.Reply = r; return m }

// brittle panics while decoding every tenth job, and while encoding a check.
type brittle struct{}

func (brittle) Name() string { return "brittle" }

func (brittle) Append(dst []byte, v any) ([]byte, error) {
	return strconv.AppendInt(dst, int64(v.(job).N), 10), nil
}

func (brittle) Decode(data []byte, into any) error {
	n, err := strconv.Atoi(string(data))
	if n%10 == 0 {
		panic("every tenth")
	}
	into.(*job).N = n
	return err
}

func TestREM06UndecodableMessageConcernsItselfAlone(t *testing.T) {
	p := wire.MustProtocol[Msg](
		wire.Message("test.job", job{}, wire.With(brittle{})),
		wire.Request("test.check", check{}, wire.With(brittle{})),
		wire.Message("test.say", say{}),
	)
	normal, good := 0, 0
	for i := range 1000 {
		for _, m := range []Msg{job{i}, say{Text: "normal"}} {
			data, _, err := p.Append(nil, m)
			if err != nil {
				t.Fatalf("Append(%v) = %v", m, err)
			}
			got, err := p.Decode(data, nil)
			switch got.(type) {
			case say:
				normal++
			case job:
				good++
			default:
				var panicked *wire.PanicError
				if !errors.Is(err, wire.ErrUndecodable) || !errors.As(err, &panicked) || len(panicked.Stack) == 0 {
					t.Fatalf("Decode of job %d = %v; want ErrUndecodable with the panic and its stack", i, err)
				}
			}
		}
	}
	if bad := p.Counts().Undecodable["test.job"]; normal != 1000 || good != 900 || bad != 100 {
		t.Errorf("%d normal, %d good, %d bad; want 1000, 900, 100", normal, good, bad)
	}
	if out, _, err := p.Append([]byte("kept"), check{}); !errors.Is(err, wire.ErrUnencodable) || string(out) != "kept" {
		t.Errorf("Append of an unencodable ask = %q, %v; want the buffer as it was and ErrUnencodable", out, err)
	}
	if _, _, err := p.Append(nil, open{}); !errors.Is(err, wire.ErrNotNamed) {
		t.Errorf("Append of an unregistered type = %v; want ErrNotNamed", err)
	}
}
