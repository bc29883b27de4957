package placement

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/member"
)

// DefaultGroup is the shard group of types and runners that name none.
const DefaultGroup = "default"

// A Group is a set of shards that lives on the runners which serve it: types of
// one group share the places of their shards, types of different groups can
// have machines of their own.
type Group struct {
	// Name of the group; default [DefaultGroup].
	Name string
	// Shards is their number, the same for all time and on all nodes. Shards
	// are counted from 0.
	Shards int
}

func (g Group) name() string { return cmp.Or(g.Name, DefaultGroup) }

// homeless are the shards without a home each.
func (g Group) homeless() []member.Address { return make([]member.Address, max(0, g.Shards)) }

// A GroupShard is one shard of a group. Its text is the key under which the
// shard is locked: it depends on nothing but the two fields, so nodes that serve
// different groups agree on it, and no two shards have the same one.
type GroupShard struct {
	Group  string // default [DefaultGroup]
	Number int    // from 0
}

// String gives GROUP:N, with N counted from 1 as in Effect Cluster.
func (s GroupShard) String() string {
	return cmp.Or(s.Group, DefaultGroup) + ":" + strconv.Itoa(s.Number+1)
}

// ParseGroupShard reads what [GroupShard.String] writes. The number stands
// behind the last colon: the name of a group may have colons of its own.
func ParseGroupShard(text string) (GroupShard, error) {
	i := strings.LastIndexByte(text, ':')
	if i < 1 {
		return GroupShard{}, fmt.Errorf("shard %q: %w", text, ErrGroupShard)
	}
	n, err := strconv.ParseUint(text[i+1:], 10, 31)
	s := GroupShard{Group: text[:i], Number: int(n) - 1}
	if err != nil || n == 0 || s.String() != text {
		return GroupShard{}, fmt.Errorf("shard %q: %w", text, ErrGroupShard)
	}
	return s, nil
}
