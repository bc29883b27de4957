package manage

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard"
)

// types are the entity types of the node, and what can be done to all of them.
type types struct {
	regions func() []shard.Region
	drain   func(ctx context.Context, at troupe.ID, on bool) error
	drained func() bool
}

func typesOf(n *troupe.Node) types {
	return types{
		regions: func() []shard.Region { return shard.Regions(n) },
		drained: func() bool { return shard.Drained(n) },
		drain: func(ctx context.Context, at troupe.ID, on bool) error {
			if on {
				return shard.Drain(ctx, n, at)
			}
			return shard.Resume(ctx, n, at)
		},
	}
}

// changeShard moves or releases a shard.
func (h *handler) changeShard(w http.ResponseWriter, r *http.Request, typeName, name string) {
	form, ok := readForm(w, r)
	if !ok {
		return
	}
	region, ok := regionNamed(h.types.regions(), typeName)
	if !ok {
		writeMessage(w, http.StatusNotFound, "Shard Region "+typeName+" is not started")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), changeWithin)
	defer cancel()
	switch strings.ToLower(form("operation")) {
	case "move":
		to, ok := parseDestination(h.node, form("to"))
		if !ok {
			writeMessage(w, http.StatusBadRequest, "to must be the address of a member, such as "+uriOf(h.node)(h.node.View().Self.Address))
			return
		}
		began := "Moving shard " + name + " of " + typeName + " to " + uriOf(h.node)(to)
		writeOutcome(w, began, region.Move(ctx, name, to))
	case "release":
		writeOutcome(w, "Releasing shard "+name+" of "+typeName, region.Release(ctx, name))
	default:
		writeMessage(w, http.StatusBadRequest, notSupported)
	}
}

// parseDestination reads a node as [parseNode] does, and host:port besides.
func parseDestination(n Namer, written string) (member.Address, bool) {
	if a, ok := parseNode(n, written); ok {
		return a, true
	}
	a, err := member.ParseAddress(written)
	return a, err == nil && !strings.Contains(written, "@")
}

// writeOutcome answers a change that others had a say in.
func writeOutcome(w http.ResponseWriter, began string, err error) {
	switch {
	case err == nil:
		writeMessage(w, http.StatusOK, began)
	case errors.Is(err, shard.ErrNoShard):
		writeMessage(w, http.StatusNotFound, err.Error())
	case errors.Is(err, shard.ErrUnfit), errors.Is(err, shard.ErrUnsettled), errors.Is(err, shard.ErrComputed), errors.Is(err, troupe.ErrNobody):
		writeMessage(w, http.StatusConflict, err.Error())
	default:
		writeMessage(w, http.StatusServiceUnavailable, err.Error())
	}
}

// drainMember has a node give away its shards, or takes that back.
func (h *handler) drainMember(w http.ResponseWriter, r *http.Request, m troupe.Member, on bool) {
	ctx, cancel := context.WithTimeout(r.Context(), changeWithin)
	defer cancel()
	began := "Resuming "
	if on {
		began = "Draining "
	}
	writeOutcome(w, began+uriOf(h.node)(m.Address), h.types.drain(ctx, m.ID, on))
}
