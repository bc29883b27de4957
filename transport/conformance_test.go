package transport_test

import (
	"testing"

	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/transport/transporttest"
)

func TestMemory(t *testing.T) {
	transporttest.Run(t, func(*testing.T) transport.Transport { return transport.NewMemory() })
}

func TestTCP(t *testing.T) {
	transporttest.Run(t, func(*testing.T) transport.Transport { return transport.TCP{} })
}
