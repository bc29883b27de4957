package sbr

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// Resolver is the split brain resolver of one node.
type Resolver struct {
	self       member.ID
	dataCenter string
	settings   Settings
}

// NewResolver makes the resolver of a node.
func NewResolver(self member.ID, dataCenter string, s Settings) *Resolver {
	return &Resolver{self: self, dataCenter: dataCenter, settings: s}
}

// Step feeds one input.
func (r *Resolver) Step(now time.Time, in Input) Output { return Output{} }
