package shard

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

func TestEnvelope(t *testing.T) {
	for _, e := range []envelope{
		{kind: frameMessage},
		{kind: frameMarker, shard: -648, epoch: protocol.Epoch{Term: 3, N: 1 << 60}},
		{
			kind: frameMessage, hops: 2, shard: math.MaxInt32, epoch: protocol.Epoch{Term: 1, N: 2},
			correlation: 77, remaining: 3 * time.Second, id: strings.Repeat("ü", 300),
		},
		{kind: frameMessage, remaining: maxRemaining},
		{kind: frameRelayed, correlation: 5, id: "#1", node: member.ID{Address: member.Address{Host: "::1", Port: 65535}, UID: -1}},
		{kind: frameRedirect, correlation: 5, node: member.ID{Address: member.Address{Host: "node", Port: 1}, UID: 7}},
		{kind: frameMessage, flags: flagKept | flagRepeat, number: 1 << 50, after: 1<<50 - 1, id: "#1"},
		{
			kind: frameRelayed, flags: flagKept | flagCarried, number: 9, id: "#1", correlation: 5,
			node: member.ID{Address: member.Address{Host: "asker", Port: 1}, UID: 7}, sender: member.ID{Address: member.Address{Host: "sender", Port: 2}, UID: 8},
		},
	} {
		frame := append(e.append(nil), "rest"...)
		got, rest, err := openEnvelope(frame)
		if err != nil || got != e || string(rest) != "rest" {
			t.Errorf("%+v came back as %+v, %q, %v", e, got, rest, err)
		}
		address(frame, protocol.Epoch{Term: 8, N: 9}, 10)
		e.epoch, e.correlation = protocol.Epoch{Term: 8, N: 9}, 10
		if got, _, _ := openEnvelope(frame); got != e {
			t.Errorf("addressed anew: %+v, want %+v", got, e)
		}
		if e.flags&flagKept != 0 && e.flags&flagCarried == 0 {
			number(frame, 12, 11)
			e.number, e.after = 12, 11
			if got, _, _ := openEnvelope(frame); got != e {
				t.Errorf("numbered anew: %+v, want %+v", got, e)
			}
		}
	}
}

func FuzzEnvelope(f *testing.F) {
	f.Add([]byte{})
	f.Add(append(envelope{kind: frameMessage, shard: -1, remaining: time.Hour, id: "#engineering"}.append(nil), "rest"...))
	f.Add(append(envelope{kind: frameRelayed, id: "#1", node: member.ID{Address: member.Address{Host: "node", Port: 1}, UID: 7}}.append(nil), "rest"...))
	f.Add(append(envelope{kind: frameMessage, flags: flagKept, number: 7, after: 5, id: "#1"}.append(nil), "rest"...))
	f.Add(append(make([]byte, envelopeSize), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1))
	f.Fuzz(func(t *testing.T, frame []byte) {
		e, rest, err := openEnvelope(frame)
		if err != nil {
			if !errors.Is(err, ErrEnvelope) {
				t.Errorf("error of another kind: %v", err)
			}
			return
		}
		if e.remaining < 0 || e.remaining > maxRemaining {
			t.Errorf("remaining time %v", e.remaining)
		}
		again, rest2, err := openEnvelope(append(e.append(nil), rest...))
		if err != nil || again != e || !bytes.Equal(rest, rest2) {
			t.Errorf("%+v came back as %+v, %v", e, again, err)
		}
	})
}
