package gossip

import "github.com/troupe-go/troupe/internal/member"

// Packed is a [State] as it travels: every node and every string is in a table
// once and is meant by its index elsewhere. It is plain data from outside
// until unpack has checked it.
type Packed struct {
	Nodes      []member.ID       `cbor:"1,keyasint,omitempty"` // strictly ascending
	Strings    []string          `cbor:"2,keyasint,omitempty"` // roles, data centers, versions; strictly ascending
	Members    []PackedMember    `cbor:"3,keyasint,omitempty"`
	Seen       []byte            `cbor:"4,keyasint,omitempty"` // a bit for each of Members, lowest bit first
	Rows       []PackedRow       `cbor:"5,keyasint,omitempty"`
	Version    []PackedCount     `cbor:"6,keyasint,omitempty"`
	Tombstones []PackedTombstone `cbor:"7,keyasint,omitempty"`
}

type (
	// PackedMember is a member; its lists hold indices of Strings.
	PackedMember struct {
		Node       uint32        `cbor:"1,keyasint"`
		Status     member.Status `cbor:"2,keyasint"`
		UpNumber   int           `cbor:"3,keyasint"`
		Roles      []uint32      `cbor:"4,keyasint,omitempty"`
		DataCenter uint32        `cbor:"5,keyasint"`
		AppVersion uint32        `cbor:"6,keyasint"`
	}

	// PackedRow is what one observer says of others.
	PackedRow struct {
		Observer uint32         `cbor:"1,keyasint"`
		Version  uint64         `cbor:"2,keyasint"`
		Records  []PackedRecord `cbor:"3,keyasint,omitempty"`
	}

	// PackedRecord is what an observer says of one subject.
	PackedRecord struct {
		Subject uint32       `cbor:"1,keyasint"`
		Status  Reachability `cbor:"2,keyasint"`
		Version uint64       `cbor:"3,keyasint"`
	}

	// PackedCount is an entry of the vector clock.
	PackedCount struct {
		Node uint32 `cbor:"1,keyasint"`
		N    uint64 `cbor:"2,keyasint"`
	}

	// PackedTombstone says when a node was removed.
	PackedTombstone struct {
		Node    uint32 `cbor:"1,keyasint"`
		Removed int64  `cbor:"2,keyasint"` // Unix milliseconds
	}
)
