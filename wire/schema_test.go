package wire_test

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/wire"
	"github.com/troupe-go/troupe/wire/wiretest"
)

// The protocol of an auction, with a bit of everything that a schema shows.
type (
	bid struct {
		Amount int64     `cbor:"1,keyasint"`
		By     bidder    `cbor:"2,keyasint"`
		At     time.Time `cbor:"3,keyasint,omitempty"`
	}
	bidder struct {
		Name  string `json:"name"`
		Proxy *bidder2
		From  netip.Addr
		Seen  map[string][]time.Duration
	}
	bidder2 struct {
		common
		Score float32
	}
	common struct {
		_    struct{} `cbor:",toarray"`
		Z, A int
	}
	best struct {
		Reply actor.Reply[[]bid]
		Count uint8 `json:"count,string"`
	}
	note struct {
		Text  string          `json:"text"`
		Extra json.RawMessage `json:"extra,omitempty"`
		By    bidder          `json:"by"`
		Raw   struct{ X int } `json:"raw"`
	}
	opaque struct{ tellable }
	label  string
)

func (bid) msg()   {}
func (best) msg()  {}
func (note) msg()  {}
func (label) msg() {}

func (m best) WithReply(r actor.Reply[[]bid]) Msg { m.Reply = r; return m }

func TestSchemaIsGolden(t *testing.T) {
	wiretest.Golden(t, "testdata/auction.txt", wire.MustProtocol[Msg](
		wire.Message("auction.note", note{}, wire.With(wire.JSON)),
		wire.Request("auction.best", best{}),
		wire.Message("auction.bid", bid{}),
		wire.Message("auction.label", label("")),
		wire.Message("auction.opaque", opaque{}, wire.With(sink{})),
	))
}

func TestSchemaShowsWhatOldNodesDependOn(t *testing.T) {
	of := func(e wire.Entry) string { return wire.MustProtocol[Msg](e).Schema() }
	base := of(wire.Message("m", say{}))
	for name, other := range map[string]string{
		"name":  of(wire.Message("n", say{})),
		"codec": of(wire.Message("m", say{}, wire.With(wire.JSON))),
		"type":  of(wire.Message("m", open{})),
		"reply": of(wire.Request("m", count{})),
	} {
		if other == base {
			t.Errorf("another %s gives the same schema:\n%s", name, base)
		}
	}
	if again := of(wire.Message("m", say{})); again != base {
		t.Errorf("the same protocol gives\n%s and\n%s", base, again)
	}
}
