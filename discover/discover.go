// Package discover finds nodes to join through: from a list, or from DNS.
//
// Nothing here is special about one of them. Who looks for a cluster asks all
// that were found; when none is in one, they agree who founds it.
//
// # Order and concurrency
//
// A [Seeds] is asked again and again, one call at a time, as long as its node
// runs; implementations here keep nothing between two calls, so that what is
// gone from the source is gone. They are safe for concurrent use.
package discover

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/member"
)

// An Address is the host and port that a node advertises.
type Address = member.Address

// ParseAddress reads host:port, IPv6 hosts in brackets, into the form in which
// addresses are compared: lower case, without a trailing dot.
func ParseAddress(s string) (Address, error) { return member.ParseAddress(s) }

// Seeds finds nodes that are in the cluster or look for it.
type Seeds interface {
	// Find gives the addresses that the nodes advertise, in order and each once;
	// the asking node's own may be among them. Nobody found is no error. ctx
	// bounds the call; an error means that it is to be tried again.
	Find(ctx context.Context) ([]Address, error)
}

// Static is a list of host:port that never changes.
type Static []string

// Find reads the list; the error names the entry that is no address.
func (s Static) Find(context.Context) ([]Address, error) {
	found := make([]Address, len(s))
	for i, text := range s {
		var err error
		if found[i], err = ParseAddress(text); err != nil {
			return nil, err
		}
	}
	return ordered(found), nil
}

// Validate tells which entry is no address.
func (s Static) Validate() error {
	_, err := s.Find(context.Background())
	return err
}

func (s Static) String() string { return "list " + strings.Join(s, ",") }

func ordered(found []Address) []Address {
	slices.SortFunc(found, Address.Compare)
	return slices.Compact(found)
}

// Parse reads where to find seeds, as flags of programs have it:
//
//	dns:NAME:PORT   the IP addresses of a name, each with the port
//	srv:NAME        the service records of a name, as _dad._tcp.example.com
//	HOST:PORT,...   a list
func Parse(s string) (Seeds, error) {
	kind, rest, _ := strings.Cut(s, ":")
	switch kind {
	case "dns":
		a, err := ParseAddress(rest)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s, err)
		}
		d := DNS{Name: a.Host, Port: a.Port}
		return d, d.Validate()
	case "srv":
		d := DNS{Name: rest}
		return d, d.Validate()
	default:
		list := Static(strings.Split(s, ","))
		return list, list.Validate()
	}
}
