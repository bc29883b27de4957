package transport

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/troupe-go/troupe/internal/member"
)

// TCP links processes by TCP. The zero value is ready; the fields replace
// parts of it, for tests and for other kinds of streams.
//
// Plain links have no authentication and no secrecy, so without [Config].TLS and
// [Config].Secret it binds and dials loopback addresses only, unless
// [Config].Insecure says otherwise.
type TCP struct {
	// LookupNetIP finds the IP addresses of a host name, at Listen and before
	// every attempt to connect; default net.DefaultResolver.
	LookupNetIP func(ctx context.Context, host string) ([]netip.Addr, error)
	// DialTCP connects; default net.Dialer.
	DialTCP func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// ListenTCP binds; default net.ListenConfig.
	ListenTCP func(ctx context.Context, at netip.AddrPort) (net.Listener, error)
}

// Listen binds cfg.Listen and opens an endpoint there; see [Transport].
func (t TCP) Listen(ctx context.Context, cfg Config, h Handler) (Endpoint, error) {
	e, err := listen(ctx, cfg, tcpNetwork{TCP: t, anywhere: cfg.Insecure || cfg.secured()}, h)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// tcpNetwork is TCP under the configuration of one endpoint.
type tcpNetwork struct {
	TCP
	anywhere bool // beyond loopback, too
}

func (n tcpNetwork) listen(ctx context.Context, at member.Address) (net.Listener, member.Address, error) {
	ips, err := n.lookup(ctx, at.Host)
	if err != nil {
		return nil, at, err
	}
	listen := n.ListenTCP
	if listen == nil {
		listen = func(ctx context.Context, at netip.AddrPort) (net.Listener, error) {
			var lc net.ListenConfig
			return lc.Listen(ctx, "tcp", at.String())
		}
	}
	l, err := listen(ctx, netip.AddrPortFrom(ips[0], uint16(at.Port)))
	if err != nil {
		return nil, at, err
	}
	if at.Port == 0 {
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, at, fmt.Errorf("listener's own address: %w", err)
		}
		if at.Port, err = strconv.Atoi(port); err != nil {
			return nil, at, fmt.Errorf("listener's own port: %w", err)
		}
	}
	return l, at, nil
}

func (n tcpNetwork) places(ctx context.Context, of member.Address) ([]member.Address, error) {
	ips, err := n.lookup(ctx, of.Host)
	if err != nil {
		return nil, err
	}
	places := make([]member.Address, len(ips))
	for i, ip := range ips {
		places[i] = member.Address{Host: ip.String(), Port: of.Port}
	}
	return places, nil
}

func (n tcpNetwork) dial(ctx context.Context, place member.Address) (net.Conn, error) {
	ip, err := netip.ParseAddr(place.Host)
	if err != nil {
		return nil, err
	}
	to := netip.AddrPortFrom(ip, uint16(place.Port))
	if n.DialTCP != nil {
		return n.DialTCP(ctx, to)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.String())
}

// lookup gives the IP addresses of a host that links may use: at least
// one, or an error that says what is missing.
func (n tcpNetwork) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	ips, err := n.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var allowed []netip.Addr
	for _, ip := range ips {
		if ip = ip.Unmap(); n.anywhere || ip.IsLoopback() {
			allowed = append(allowed, ip)
		}
	}
	switch {
	case len(ips) == 0:
		return nil, fmt.Errorf("host %q has no IP address", host)
	case len(allowed) == 0:
		return nil, fmt.Errorf("%w: %s is at %v; set Config.TLS or Config.Secret, or Config.Insecure to allow plain links there", ErrInsecure, host, ips[0])
	}
	return allowed, nil
}

func (n tcpNetwork) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	if n.LookupNetIP != nil {
		return n.LookupNetIP(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// unspecified tells whether a host is an address to bind and none to dial.
func unspecified(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsUnspecified()
}
