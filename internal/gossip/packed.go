package gossip

import (
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// Packed is a [State] as it travels: every node and every string is in a table
// once and is meant by its index elsewhere. It is plain data from outside
// until unpack has checked it, and shared by all who send it: nobody changes it.
type Packed struct {
	Nodes      []member.ID       `cbor:"1,keyasint,omitempty"` // strictly ascending
	Strings    []string          `cbor:"2,keyasint,omitempty"` // roles, data centers, versions; strictly ascending
	Members    []PackedMember    `cbor:"3,keyasint,omitempty"` // by node
	Seen       []byte            `cbor:"4,keyasint,omitempty"` // a bit for each of Members, lowest bit first
	Rows       []PackedRow       `cbor:"5,keyasint,omitempty"` // by observer
	Version    []PackedCount     `cbor:"6,keyasint,omitempty"` // by node
	Tombstones []PackedTombstone `cbor:"7,keyasint,omitempty"` // by node
	ID         member.ClusterID  `cbor:"8,keyasint"`
	Quorum     uint16            `cbor:"9,keyasint,omitempty"`
}

type (
	// PackedMember is a member; Roles, DataCenter and AppVersion are indices
	// of Strings.
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
		Records  []PackedRecord `cbor:"3,keyasint,omitempty"` // by subject
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

	// PackedTombstone says when a node was removed, and how it went.
	PackedTombstone struct {
		Node    uint32     `cbor:"1,keyasint"`
		Removed int64      `cbor:"2,keyasint"` // Unix milliseconds
		End     member.End `cbor:"3,keyasint,omitempty"`
	}
)

// pack writes a state for the wire.
func pack(s *State) Packed { return packAfter(s, &State{}, Packed{}) }

// packAfter is the same, and takes over from what was packed before what has not
// changed since.
func packAfter(s, before *State, packed Packed) Packed {
	p := Packed{ID: s.ID, Quorum: uint16(s.Quorum)} // at most maxSeeds
	if len(s.Members) > 0 && shared(s.Members, before.Members) && shared(s.Tombstones, before.Tombstones) {
		p.Nodes, p.Strings, p.Members, p.Tombstones = packed.Nodes, packed.Strings, packed.Members, packed.Tombstones
	} else {
		before, packed = &State{}, Packed{} // all indices are others
		p.packMembers(s)
	}
	p.Seen = packSeen(s)
	if p.Rows = packed.Rows; !shared(s.Table.rows, before.Table.rows) {
		p.packRows(s, before, packed.Rows)
	}
	if p.Version = packed.Version; !shared(s.Version, before.Version) {
		p.Version = make([]PackedCount, 0, len(s.Version))
		node := p.cursor()
		for _, c := range s.Version {
			p.Version = append(p.Version, PackedCount{node(c.Node), c.N})
		}
	}
	return p
}

// packMembers lists the nodes, the strings, the members and the tombstones.
func (p *Packed) packMembers(s *State) {
	p.Nodes, p.Strings, p.Members = nodesOf(s), stringsOf(s), make([]PackedMember, len(s.Members))
	str := func(v string) uint32 {
		i, _ := slices.BinarySearch(p.Strings, v)
		return uint32(i)
	}
	node := p.cursor()
	for i, m := range s.Members {
		pm := PackedMember{
			Node: node(m.ID), Status: m.Status, UpNumber: m.UpNumber,
			DataCenter: str(m.DataCenter), AppVersion: str(m.AppVersion),
		}
		for _, role := range m.Roles {
			pm.Roles = append(pm.Roles, str(role))
		}
		p.Members[i] = pm
	}
	node = p.cursor()
	for _, t := range s.Tombstones {
		p.Tombstones = append(p.Tombstones, PackedTombstone{node(t.Node), t.Removed, t.End})
	}
}

func packSeen(s *State) []byte {
	bits, seen := make([]byte, (len(s.Members)+7)/8), s.Seen
	for i := range s.Members {
		if len(seen) > 0 && seen[0] == s.Members[i].ID {
			bits[i/8] |= 1 << (i % 8)
			seen = seen[1:]
		}
	}
	return bits
}

func (p *Packed) packRows(s, before *State, packed []PackedRow) {
	p.Rows = nil
	node := p.cursor()
	for _, r := range s.Table.rows {
		pr := PackedRow{Observer: node(r.observer), Version: r.version}
		if i, ok := before.Table.find(r.observer); ok && shared(r.records, before.Table.rows[i].records) {
			pr.Records = packed[i].Records
			p.Rows = append(p.Rows, pr)
			continue
		}
		if len(r.records) > 0 {
			pr.Records = make([]PackedRecord, 0, len(r.records))
		}
		subject := p.cursor()
		for _, rec := range r.records {
			pr.Records = append(pr.Records, PackedRecord{subject(rec.subject), rec.status, rec.version})
		}
		p.Rows = append(p.Rows, pr)
	}
}

// cursor finds nodes in the table that are asked for in order. Mostly it is the next
// one.
func (p Packed) cursor() func(member.ID) uint32 {
	i := 0
	return func(id member.ID) uint32 {
		if p.Nodes[i] != id {
			i++
		}
		if p.Nodes[i] != id {
			next, _ := search(p.Nodes[i:], id, nodeOfID)
			i += next
		}
		for p.Nodes[i] != id {
			i++
		}
		return uint32(i)
	}
}

// nodesOf lists all nodes that occur in a state. Everybody but the removed ones
// is a member.
func nodesOf(s *State) []member.ID {
	nodes := make([]member.ID, 0, len(s.Members)+len(s.Tombstones))
	for _, m := range s.Members {
		nodes = append(nodes, m.ID)
	}
	for _, t := range s.Tombstones {
		nodes = append(nodes, t.Node)
	}
	if len(s.Tombstones) == 0 {
		return nodes
	}
	return setOf(nodes)
}

func stringsOf(s *State) []string {
	var all []string
	for i, m := range s.Members {
		if i > 0 && m.DataCenter == s.Members[i-1].DataCenter && m.AppVersion == s.Members[i-1].AppVersion &&
			slices.Equal(m.Roles, s.Members[i-1].Roles) {
			continue
		}
		all = append(append(all, m.Roles...), m.DataCenter, m.AppVersion)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Limits of what is taken from the wire. They are far above what works well and
// keep a hostile message from costing more than its own size.
const (
	maxNodes    = 1 << 16 // members and tombstones
	maxText     = 255     // bytes of a host, role, data center or version
	maxRoles    = 64      // of one member
	maxCount    = 1 << 53 // of clock entries and row versions: they are counted up
	maxSettings = 64      // in the check of a configuration
)

// unpack checks that p is a state that a correct node could have sent.
func (p Packed) unpack() (*State, error) {
	if p.ID == 0 {
		return nil, fmt.Errorf("a state of no cluster")
	}
	u := unpacker{Packed: p, state: &State{ID: p.ID, Quorum: int(p.Quorum)}}
	for _, step := range []func() error{u.tables, u.members, u.seen, u.rows, u.version, u.tombstones} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return u.state, nil
}

type unpacker struct {
	Packed
	state *State
	index []bool // by node: whether it is a member
}

func (u *unpacker) tables() error {
	if len(u.Nodes) > maxNodes || len(u.Strings) > maxNodes {
		return fmt.Errorf("%d nodes and %d strings are more than %d", len(u.Nodes), len(u.Strings), maxNodes)
	}
	for i, id := range u.Nodes {
		if err := checkNode(id); err != nil {
			return err
		}
		if i > 0 && u.Nodes[i-1].Compare(id) >= 0 {
			return fmt.Errorf("node %v is out of order", id)
		}
	}
	for i, s := range u.Strings {
		if len(s) > maxText {
			return fmt.Errorf("a string of %d bytes is longer than %d", len(s), maxText)
		}
		if i > 0 && u.Strings[i-1] >= s {
			return fmt.Errorf("string %q is out of order", s)
		}
	}
	u.index = make([]bool, len(u.Nodes))
	return nil
}

// checkNode tells whether an identity could be a node's.
func checkNode(id member.ID) error {
	if id.Host == "" || len(id.Host) > maxText || id.Port < 0 || id.Port > 65535 || id.UID == 0 {
		return fmt.Errorf("%.300q:%d#%d is no node", id.Host, id.Port, id.UID)
	}
	return nil
}

func (u *unpacker) members() error {
	u.state.Members = make([]member.Member, 0, min(len(u.Members), len(u.Nodes)))
	var roles []string // of the one before: most members have the same ones
	var indices []uint32
	for i, pm := range u.Members {
		if err := u.follows("member", i, pm.Node, func(j int) uint32 { return u.Members[j].Node }); err != nil {
			return err
		}
		if !valid(pm.Status) || pm.Status == member.Removed || pm.UpNumber < 0 || pm.UpNumber > member.NeverUp {
			return fmt.Errorf("member %v: status %d, up-number %d", u.Nodes[pm.Node], pm.Status, pm.UpNumber)
		}
		if int(pm.DataCenter) >= len(u.Strings) || int(pm.AppVersion) >= len(u.Strings) || len(pm.Roles) > maxRoles {
			return fmt.Errorf("member %v: a string that is not there", u.Nodes[pm.Node])
		}
		if i == 0 || !slices.Equal(indices, pm.Roles) {
			indices, roles = pm.Roles, nil
			for j, r := range pm.Roles {
				if int(r) >= len(u.Strings) || j > 0 && pm.Roles[j-1] >= r {
					return fmt.Errorf("member %v: roles %v", u.Nodes[pm.Node], pm.Roles)
				}
				roles = append(roles, u.Strings[r])
			}
		}
		if i > 0 && u.Nodes[pm.Node].Address == u.state.Members[i-1].Address {
			return fmt.Errorf("members %v and %v are at one address", u.state.Members[i-1].ID, u.Nodes[pm.Node])
		}
		u.index[pm.Node] = true
		u.state.Members = append(u.state.Members, member.Member{
			ID: u.Nodes[pm.Node], Status: pm.Status, UpNumber: pm.UpNumber, Roles: roles,
			DataCenter: u.Strings[pm.DataCenter], AppVersion: u.Strings[pm.AppVersion],
		})
	}
	return nil
}

// follows checks that element i of a list names a node, after the one before.
func (u *unpacker) follows(what string, i int, node uint32, nodeOf func(i int) uint32) error {
	if int64(node) >= int64(len(u.Nodes)) || i > 0 && nodeOf(i-1) >= node {
		return fmt.Errorf("%s %d names node %d of %d or is out of order", what, i, node, len(u.Nodes))
	}
	return nil
}

// followsMember also checks that the node is a member.
func (u *unpacker) followsMember(what string, i int, node uint32, nodeOf func(i int) uint32) error {
	if err := u.follows(what, i, node, nodeOf); err != nil {
		return err
	}
	if !u.index[node] {
		return fmt.Errorf("%s %d names %v, which is no member", what, i, u.Nodes[node])
	}
	return nil
}

func (u *unpacker) seen() error {
	if len(u.Seen) > (len(u.Members)+7)/8 {
		return fmt.Errorf("%d bytes of seen for %d members", len(u.Seen), len(u.Members))
	}
	for i := range len(u.Seen) * 8 {
		if u.Seen[i/8]&(1<<(i%8)) == 0 {
			continue
		}
		if i >= len(u.Members) {
			return fmt.Errorf("member %d of %d has seen it", i, len(u.Members))
		}
		u.state.Seen = append(u.state.Seen, u.state.Members[i].ID)
	}
	return nil
}

func (u *unpacker) rows() error {
	for i, pr := range u.Rows {
		if err := u.followsMember("row", i, pr.Observer, func(j int) uint32 { return u.Rows[j].Observer }); err != nil {
			return err
		}
		if pr.Version == 0 || pr.Version > maxCount {
			return fmt.Errorf("row of %v: version %d", u.Nodes[pr.Observer], pr.Version)
		}
		r := row{observer: u.Nodes[pr.Observer], version: pr.Version}
		if len(pr.Records) > 0 {
			r.records = make([]record, 0, min(len(pr.Records), len(u.Nodes)))
		}
		for j, rec := range pr.Records {
			if err := u.followsMember("record", j, rec.Subject, func(j int) uint32 { return pr.Records[j].Subject }); err != nil {
				return err
			}
			if rec.Status > Disputed || rec.Version > pr.Version || rec.Subject == pr.Observer {
				return fmt.Errorf("row of %v: status %d, version %d of %v", r.observer, rec.Status, rec.Version, u.Nodes[rec.Subject])
			}
			r.records = append(r.records, record{u.Nodes[rec.Subject], rec.Status, rec.Version})
		}
		u.state.Table.rows = append(u.state.Table.rows, r)
	}
	return nil
}

func (u *unpacker) version() error {
	for i, c := range u.Version {
		if err := u.followsMember("count", i, c.Node, func(j int) uint32 { return u.Version[j].Node }); err != nil {
			return err
		}
		if c.N == 0 || c.N > maxCount {
			return fmt.Errorf("count of %v: %d", u.Nodes[c.Node], c.N)
		}
		u.state.Version = append(u.state.Version, Count{u.Nodes[c.Node], c.N})
	}
	return nil
}

func (u *unpacker) tombstones() error {
	for i, t := range u.Tombstones {
		if err := u.follows("tombstone", i, t.Node, func(j int) uint32 { return u.Tombstones[j].Node }); err != nil {
			return err
		}
		if t.End > member.Crashed {
			return fmt.Errorf("%v went in an unknown way, %d", u.Nodes[t.Node], t.End)
		}
		u.state.Tombstones = append(u.state.Tombstones, Tombstone{u.Nodes[t.Node], t.Removed, t.End})
	}
	return nil
}
