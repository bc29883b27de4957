package shard

import (
	"sync"
	"sync/atomic"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/shard/internal/region"
)

// posts is a list of inputs that wakes its reader.
type posts struct {
	ready chan struct{} // holds one token
	mu    sync.Mutex
	list  []region.Input
}

func (p *posts) add(in region.Input) {
	p.mu.Lock()
	p.list = append(p.list, in)
	p.mu.Unlock()
	p.signal()
}

func (p *posts) signal() {
	select {
	case p.ready <- struct{}{}:
	default:
	}
}

func (p *posts) take() []region.Input {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.list
	p.list = nil
	return list
}

// latest is the newest view; older ones that nobody read are left out.
type latest struct {
	changed chan struct{} // holds one token
	v       atomic.Pointer[troupe.View]
}

func (l *latest) set(v *troupe.View) {
	l.v.Store(v)
	select {
	case l.changed <- struct{}{}:
	default:
	}
}
