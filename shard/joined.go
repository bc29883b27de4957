package shard

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// joined are the types of one node.
type joined struct {
	mu      sync.Mutex
	names   map[string]bool // of those that have joined, or are about to
	parts   []participant   // of those that have, by name
	drained bool
}

type joinedKey struct{}

func joinedOn(n interface {
	Component(key any, create func() any) any
},
) *joined {
	return n.Component(joinedKey{}, func() any { return &joined{names: map[string]bool{}} }).(*joined)
}

// reserve takes the name of a type that is about to join.
func (j *joined) reserve(name string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.names[name] {
		return ErrJoined
	}
	j.names[name] = true
	return nil
}

// free gives back the name of a type that could not join.
func (j *joined) free(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.names, name)
}

// add shows a type to others, now that it can answer. On a drained node it hosts
// nothing.
func (j *joined) add(p participant) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, _ := j.find(p.TypeName())
	j.parts = slices.Insert(j.parts, i, p)
	if j.drained {
		p.spare(true)
	}
}

func (j *joined) find(name string) (int, bool) {
	return slices.BinarySearchFunc(j.parts, name, func(p participant, name string) int {
		return cmp.Compare(p.TypeName(), name)
	})
}

func (j *joined) list() []Region {
	j.mu.Lock()
	defer j.mu.Unlock()
	regions := make([]Region, len(j.parts))
	for i, p := range j.parts {
		regions[i] = p
	}
	return regions
}

func (j *joined) named(name string) (participant, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := j.find(name)
	if !ok {
		return nil, fmt.Errorf("type %q: %w", name, ErrNotJoined)
	}
	return j.parts[i], nil
}

// drain has all types give away what they host here, or ends that.
func (j *joined) drain(on bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.drained = on
	for _, p := range j.parts {
		p.spare(on)
	}
}

func (j *joined) isDrained() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.drained
}
