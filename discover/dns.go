package discover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// DNS finds nodes by a name that has a record for each of them, as a headless
// service of Kubernetes or an entry of Consul has.
//
// With a Port, the name's IP addresses (A and AAAA records) are the nodes, all on
// that port: each must advertise its IP address. Without one, the name's service
// records (SRV) give host and port of each: nodes must advertise these host names,
// which are looked up again whenever a link is made.
type DNS struct {
	// Name to look up, as dads.default.svc.cluster.local, or a service's as
	// _dad._tcp.example.com. Required.
	Name string
	// Port of all nodes; 0 asks for service records.
	Port int
	// Resolver asks. Default [net.DefaultResolver].
	Resolver Resolver
}

// Resolver is what DNS needs of a *[net.Resolver].
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	LookupSRV(ctx context.Context, service, proto, name string) (cname string, records []*net.SRV, err error)
}

// Validate tells what cannot be looked up.
func (d DNS) Validate() error {
	switch {
	case d.Name == "" || strings.ContainsAny(d.Name, " /,"):
		return fmt.Errorf("discover: DNS.Name %q is no name", d.Name)
	case d.Port < 0 || d.Port > 65535:
		return fmt.Errorf("discover: DNS.Port is %d: use 1 to 65535, or 0 for service records", d.Port)
	default:
		return nil
	}
}

// Find looks the name up. A name that does not exist has no nodes yet, which is
// no error.
func (d DNS) Find(ctx context.Context) ([]Address, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	find := d.hosts
	if d.Port == 0 {
		find = d.services
	}
	found, err := find(ctx, d.resolver())
	if missing, ok := errors.AsType[*net.DNSError](err); ok && missing.IsNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find nodes of %v: %w", d, err)
	}
	return ordered(found), nil
}

func (d DNS) hosts(ctx context.Context, r Resolver) ([]Address, error) {
	ips, err := r.LookupNetIP(ctx, "ip", d.Name)
	var found []Address
	for _, ip := range ips {
		found = append(found, Address{Host: ip.Unmap().String(), Port: d.Port})
	}
	return found, err
}

// services keeps what is right when some records are not: the resolver gives
// both then.
func (d DNS) services(ctx context.Context, r Resolver) ([]Address, error) {
	_, records, err := r.LookupSRV(ctx, "", "", d.Name)
	var found []Address
	for _, record := range records {
		a, bad := ParseAddress(net.JoinHostPort(record.Target, fmt.Sprint(record.Port)))
		if bad == nil {
			found = append(found, a)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	return nil, err
}

func (d DNS) resolver() Resolver {
	if d.Resolver == nil {
		return net.DefaultResolver
	}
	return d.Resolver
}

func (d DNS) String() string {
	if d.Port == 0 {
		return "srv:" + d.Name
	}
	return fmt.Sprintf("dns:%s:%d", d.Name, d.Port)
}
