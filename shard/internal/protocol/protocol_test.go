package protocol

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

func id(host string, uid int64) member.ID {
	return member.ID{Address: member.Address{Host: host, Port: 25520}, UID: uid}
}

// every has one message of each kind with all fields set.
func every() []Message {
	h := Header{Term: 7, Seq: math.MaxUint64}
	t := Tenure{Shard: "320", Epoch: Epoch{7, 12}}
	return []Message{
		Claim{h},
		Registered{h},
		Mismatch{h, "1000 shards"},
		ShardHomes{h, []Home{{t, id("a", -5)}, {t, id("b", math.MaxInt64)}}},
		HostShards{h, []Assignment{{t, id("a", 1)}, {t, member.ID{}}}},
		BeginHandOff{h, []Move{{t, id("a", 1), Epoch{7, 13}}}},
		HandOff{h, []member.ID{id("a", 1), id("b", 2)}, []Leaving{{t, Epoch{7, 13}}}},
		StopShards{h, []Tenure{t}},
		Report{7, id("a", 1), "1000 shards", true, true, []Hosted{{t, true}, {t, false}}, []Tenure{t}, []Wish{{"320", id("a", 1).Address, Epoch{7, 14}}}},
		Refused{9, id("a", 1)},
		GetShardHomes{[]string{"320", "", "-1"}},
		ShardsStarted{[]Tenure{t}},
		BeginHandOffAck{[]Ack{{"320", Epoch{7, 13}, true}}},
		ShardsStopped{[]Tenure{t, t}},
		GracefulShutdown{},
		StaleRoute{"320", Epoch{7, 12}},
		Arriving{},
		HighestTerm{7},
		Wishes{h, []Wish{{"320", id("a", 1).Address, Epoch{7, 14}}, {Shard: "1"}}},
		Staying{},
		WishesKept{[]Tenure{t}},
		Loads{[]Load{{"320", 1_000, 2_000_000, 10}, {}}},
		Look{},
		WhereIs{[]string{"320", "-1"}},
		Housed{[]Leaving{{t, Epoch{7, 13}}}},
		Elsewhere{[]string{"320"}},
		Handing{[]Leaving{{t, Epoch{7, 13}}}},
		Handed{[]Ack{{"320", Epoch{7, 13}, true}}},
		Released{[]Assignment{{t, id("a", 1)}, {t, member.ID{}}}},
	}
}

func TestMessagesSurviveTheWire(t *testing.T) {
	if got, want := len(every()), len(forms)-1; got != want {
		t.Errorf("%d kinds are tried, there are %d", got, want)
	}
	for _, m := range every() {
		got, err := Decode(Append(nil, m))
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%T: got %+v (%v), want %+v", m, got, err, m)
		}
		empty := reflect.Zero(reflect.TypeOf(m)).Interface().(Message)
		if got, err := Decode(Append(nil, empty)); err != nil || !reflect.DeepEqual(got, empty) {
			t.Errorf("zero %T: got %+v (%v)", m, got, err)
		}
	}
}

func TestDecodeRefusesWhatWasCutOrLengthened(t *testing.T) {
	for _, m := range every() {
		whole := Append(nil, m)
		for n := range whole {
			if got, err := Decode(whole[:n]); !errors.Is(err, ErrMalformed) {
				t.Errorf("%T cut to %d of %d bytes: got %+v (%v), want ErrMalformed", m, n, len(whole), got, err)
			}
		}
		if got, err := Decode(append(whole, 0)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%T with a byte behind: got %+v (%v), want ErrMalformed", m, got, err)
		}
	}
}

// A length is believed only as far as bytes follow it.
func TestDecodeAllocatesNoMoreThanCame(t *testing.T) {
	liar := []byte{byte(kindGetShardHomes), 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 'a'}
	if _, err := Decode(liar); !errors.Is(err, ErrMalformed) {
		t.Errorf("got %v, want ErrMalformed", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, m := range every() {
		f.Add(Append(nil, m))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(data)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%x: %v is not ErrMalformed", data, err)
			}
			return
		}
		if again := Append(nil, m); !bytes.Equal(again, data) {
			t.Errorf("%x means %+v, which is written as %x", data, m, again)
		}
	})
}

func TestEpochsAreOrdered(t *testing.T) {
	order := []Epoch{{}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 0}, {math.MaxUint64, 0}}
	for i, a := range order {
		for j, b := range order {
			if got, want := a.Less(b), i < j; got != want {
				t.Errorf("%v less than %v: got %v, want %v", a, b, got, want)
			}
		}
	}
}

func TestOutboxJoinsWhatFollows(t *testing.T) {
	a, b := id("a", 1), id("b", 1)
	homes := func(seq uint64, shards ...string) ShardHomes {
		m := ShardHomes{Header: Header{Term: 1, Seq: seq}}
		for _, s := range shards {
			m.Homes = append(m.Homes, Home{Tenure{s, Epoch{1, 1}}, b})
		}
		return m
	}
	var box Outbox
	box.Add(a, homes(1, "1"))
	box.Add(b, homes(2, "1"))
	box.Add(a, homes(3, "2"))
	box.Add(a, Registered{Header{1, 4}})
	box.Add(a, homes(5, "3")) // not before Registered
	box.Add(b, homes(6, "2"))
	want := []Packet{
		{a, homes(1, "1", "2")},
		{b, homes(2, "1", "2")},
		{a, Registered{Header{1, 4}}},
		{a, homes(5, "3")},
	}
	if got := box.Take(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := box.Take(); got != nil {
		t.Errorf("taken twice: %+v", got)
	}
}

func TestOutboxBoundsWhatItJoins(t *testing.T) {
	var box Outbox
	for range 2*maxList + 1 {
		box.Add(id("a", 1), GetShardHomes{[]string{"1"}})
	}
	if got := len(box.Take()); got != 3 {
		t.Errorf("%d entries go in %d messages, want 3", 2*maxList+1, got)
	}
}

func TestOutboxJoinsEveryList(t *testing.T) {
	for _, m := range every() {
		var box Outbox
		box.Add(id("a", 1), m)
		box.Add(id("a", 1), m)
		_, list := m.(joiner)
		if got := len(box.Take()); (got == 1) != list {
			t.Errorf("two %T make %d messages", m, got)
		}
	}
}

func BenchmarkReport(b *testing.B) {
	r := Report{Term: 7, Coordinator: id("10.0.0.1", 42)}
	for range 1000 {
		r.Hosted = append(r.Hosted, Hosted{Tenure: Tenure{"320", Epoch{7, 12}}})
	}
	frame := Append(nil, r)
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		frame = Append(frame[:0], r)
		if _, err := Decode(frame); err != nil {
			b.Fatal(err)
		}
	}
}
