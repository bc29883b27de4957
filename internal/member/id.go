package member

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// An Address is where a node can be reached: a host name or IP address and a
// port. It names a place, not a process: a restarted process has the same
// address and another [ID].
type Address struct {
	Host string `cbor:"1,keyasint" json:"host"`
	Port int    `cbor:"2,keyasint" json:"port"`
}

// ParseAddress reads "host:port", with IPv6 hosts in brackets. The host is
// normalised: lower case, no trailing dot, canonical form of an IP address, so
// that two spellings of one address are one address.
func ParseAddress(s string) (Address, error) {
	host, port, err := splitHostPort(s)
	if err != nil {
		return Address{}, err
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 0 || n > 65535 {
		return Address{}, fmt.Errorf("address %q: port %q is not a number from 0 to 65535", s, port)
	}
	host, err = normalHost(host)
	if err != nil {
		return Address{}, fmt.Errorf("address %q: %w", s, err)
	}
	return Address{Host: host, Port: n}, nil
}

func splitHostPort(s string) (host, port string, err error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", "", fmt.Errorf("address %q has no port: write host:port", s)
	}
	host, port = s[:i], s[i+1:]
	if strings.HasPrefix(host, "[") != strings.HasSuffix(host, "]") {
		return "", "", fmt.Errorf("address %q: unbalanced brackets", s)
	}
	if strings.HasPrefix(host, "[") {
		return host[1 : len(host)-1], port, nil
	}
	if strings.ContainsRune(host, ':') {
		return "", "", fmt.Errorf("address %q: write an IPv6 host in brackets: [%s]:%s", s, host, port)
	}
	return host, port, nil
}

func normalHost(host string) (string, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String(), nil
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" {
		return "", fmt.Errorf("the host is empty")
	}
	if strings.HasPrefix(host, ".") || strings.HasSuffix(host, ".") || strings.Contains(host, "..") {
		return "", fmt.Errorf("host %q has an empty part between its dots", host)
	}
	for _, r := range host {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.', r == '_':
		default:
			return "", fmt.Errorf("host %q contains %q", host, r)
		}
	}
	return host, nil
}

// String gives host:port, IPv6 hosts in brackets.
func (a Address) String() string {
	if strings.ContainsRune(a.Host, ':') {
		return "[" + a.Host + "]:" + strconv.Itoa(a.Port)
	}
	return a.Host + ":" + strconv.Itoa(a.Port)
}

// URI gives scheme://cluster@host:port, the form that tools show and take.
func (a Address) URI(scheme, cluster string) string {
	return scheme + "://" + cluster + "@" + a.String()
}

// IsZero tells whether a is unset.
func (a Address) IsZero() bool { return a == Address{} }

// Compare orders addresses by host (as a string), then port. It is the order
// of leadership, so every node must compute the same one.
func (a Address) Compare(b Address) int {
	if order := strings.Compare(a.Host, b.Host); order != 0 {
		return order
	}
	return cmp.Compare(a.Port, b.Port)
}

// An ID is the identity of a node: its address and the incarnation of the
// process there. UID is drawn at start by [NewUID] and never zero for a real
// node, so a restarted process on the same address is another node.
//
// A UID tells when its process was started, so that all who hear of two
// incarnations at one address keep the later one, without a word. See
// [ID.Replaces].
type ID struct {
	Address
	UID int64 `cbor:"3,keyasint" json:"uid"`
}

// startBits of a UID, the lower ones, are the milliseconds since 1970 at which
// its process was started (until 2109); the upper ones are random: the ring of
// heartbeats must not follow the order of starts, for what starts together
// tends to fail together.
const startBits = 42

// NewUID makes the number of an incarnation out of the time of its start and a
// random number. It is positive.
func NewUID(start time.Time, random uint64) int64 {
	return int64(random>>(startBits+1))<<startBits | start.UnixMilli()&(1<<startBits-1)
}

// Replaces tells whether id is an incarnation at the address of other that was
// started later. That is the word of the machine's clock: if it was set back
// between the two starts, the order is the wrong way round.
func (id ID) Replaces(other ID) bool {
	start, otherStart := id.UID&(1<<startBits-1), other.UID&(1<<startBits-1)
	return id.Address == other.Address && cmp.Or(cmp.Compare(start, otherStart), cmp.Compare(id.UID, other.UID)) > 0
}

// Compare orders nodes by address, then by UID (signed).
func (id ID) Compare(other ID) int {
	if order := id.Address.Compare(other.Address); order != 0 {
		return order
	}
	return cmp.Compare(id.UID, other.UID)
}

// String gives host:port#uid.
func (id ID) String() string {
	return id.Address.String() + "#" + strconv.FormatInt(id.UID, 10)
}

// IsZero tells whether id is unset.
func (id ID) IsZero() bool { return id == ID{} }
