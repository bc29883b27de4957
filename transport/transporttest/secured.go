package transporttest

import (
	"context"

	"github.com/troupe-go/troupe/transport"
)

// Secured is a transport whose endpoints all are configured by a function, so
// that the suite runs over links of any kind.
type Secured struct {
	transport.Transport
	Secure func(*transport.Config)
}

// Listen configures and opens an endpoint.
func (s Secured) Listen(ctx context.Context, cfg transport.Config, h transport.Handler) (transport.Endpoint, error) {
	s.Secure(&cfg)
	return s.Transport.Listen(ctx, cfg, h)
}
