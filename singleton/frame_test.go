package singleton

import (
	"reflect"
	"testing"
	"time"

	troupe "github.com/troupe-go/troupe"
)

var asker = troupe.ID{Address: troupe.Address{Host: "b", Port: 2}, UID: 3}

func TestParcelsTravel(t *testing.T) {
	now := time.Unix(1000, 0)
	from := troupe.ID{Address: troupe.Address{Host: "a", Port: 1}, UID: 1}
	for _, kind := range []byte{frameMessage, frameRelayed, frameReturned} {
		want := parcel{body: []byte("x"), correlation: 7, asker: asker, deadline: now.Add(time.Second)}
		if kind == frameMessage {
			want.asker = from
		}
		got, err := openParcel(from, append(want.head(nil, kind, now), want.body...), now)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("kind %d: %+v, %v; want %+v", kind, got, err, want)
		}
	}
}

// FuzzOpenParcel: what is accepted is written the same.
func FuzzOpenParcel(f *testing.F) {
	now := time.Unix(1000, 0)
	p := parcel{body: []byte("x"), correlation: 7, asker: asker, deadline: now.Add(time.Second)}
	for _, kind := range []byte{frameMessage, frameRelayed, frameReturned} {
		f.Add(append(p.head(nil, kind, now), p.body...))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		got, err := openParcel(asker, frame, now)
		if err != nil {
			return
		}
		again, err := openParcel(asker, append(got.head(nil, frame[0], now), got.body...), now)
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%+v reads as %+v, %v", got, again, err)
		}
	})
}
