package discover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// zone is a resolver with records of its own.
type zone struct {
	ips map[string][]string
	srv map[string][]*net.SRV
	err error
}

func (z *zone) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	if network != "ip" {
		return nil, fmt.Errorf("asked for %q", network)
	}
	if z.err != nil {
		return nil, z.err
	}
	var ips []netip.Addr
	for _, ip := range z.ips[host] {
		ips = append(ips, netip.MustParseAddr(ip))
	}
	if ips == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return ips, nil
}

func (z *zone) LookupSRV(_ context.Context, service, proto, name string) (string, []*net.SRV, error) {
	if service != "" || proto != "" {
		return "", nil, fmt.Errorf("asked for %q %q", service, proto)
	}
	return name, z.srv[name], z.err
}

func TestDNS(t *testing.T) {
	z := &zone{
		ips: map[string][]string{"dads.example": {"10.0.0.2", "::1", "::ffff:10.0.0.1", "10.0.0.2"}},
		srv: map[string][]*net.SRV{"_dad._tcp.example": {
			{Target: "B.example.", Port: 2}, {Target: "a.example.", Port: 1}, {Target: "bad host", Port: 3},
		}},
	}
	for _, tt := range []struct {
		in   DNS
		err  error
		want string
	}{
		{in: DNS{Name: "dads.example", Port: 7}, want: "[10.0.0.1:7 10.0.0.2:7 [::1]:7]"},
		{in: DNS{Name: "_dad._tcp.example"}, want: "[a.example:1 b.example:2]"},
		{in: DNS{Name: "nobody.example", Port: 7}, want: "[]"},
		{in: DNS{Name: "dads.example", Port: 7}, err: errors.New("refused"), want: "find nodes of dns:dads.example:7: refused"},
		{in: DNS{Name: "_dad._tcp.example"}, err: errors.New("half of it is nonsense"), want: "[a.example:1 b.example:2]"},
		{in: DNS{Port: 7}, want: `discover: DNS.Name "" is no name`},
		{in: DNS{Name: "a", Port: -1}, want: "discover: DNS.Port is -1: use 1 to 65535, or 0 for service records"},
	} {
		z.err = tt.err
		tt.in.Resolver = z
		found, err := tt.in.Find(t.Context())
		got := fmt.Sprint(found)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%v, resolver says %v: found %s, want %s", tt.in, tt.err, got, tt.want)
		}
	}
}

// What was found is not remembered.
func TestMEM13NamesAreLookedUpAgain(t *testing.T) {
	z := &zone{ips: map[string][]string{"dads": {"10.0.0.1"}}}
	d := DNS{Name: "dads", Port: 7, Resolver: z}
	for _, ip := range []string{"10.0.0.1", "10.0.0.2"} {
		z.ips["dads"] = []string{ip}
		if found, err := d.Find(t.Context()); err != nil || fmt.Sprint(found) != "["+ip+":7]" {
			t.Errorf("found %v, %v, want %s", found, err, ip)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"dns:Dads.default.svc.:2552", "dns:dads.default.svc:2552"},
		{"srv:_dad._tcp.example", "srv:_dad._tcp.example"},
		{"b:1,a:2", "list b:1,a:2"},
		{"dns:dads", "has no port"},
		{"srv:", "is no name"},
		{"a", "has no port"},
		{"", "has no port"},
	} {
		seeds, err := Parse(tt.in)
		got := fmt.Sprint(seeds)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("Parse(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

// MEM-14: a seed is normalised or refused with the reason.
func TestMEM14StaticSeedsAreNormalised(t *testing.T) {
	found, err := Static{"NODE1:1", "node1.:1", "node_1:1", "node1.svc.cluster.local.:1"}.Find(t.Context())
	if want := "[node1:1 node1.svc.cluster.local:1 node_1:1]"; err != nil || fmt.Sprint(found) != want {
		t.Errorf("found %v, %v, want %s", found, err, want)
	}
	if _, err := (Static{"node1"}).Find(t.Context()); err == nil || !strings.Contains(err.Error(), "write host:port") {
		t.Errorf("a seed without a port: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"dns:a:1", "srv:_a._tcp.b", "a:1,[::1]:2", "dns::", ","} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if seeds, err := Parse(s); err == nil && seeds == nil {
			t.Errorf("Parse(%q) gives neither seeds nor an error", s)
		}
	})
}
