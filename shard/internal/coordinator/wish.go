package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// The reasons for which an operator's word is not followed; the error that has
// them says more.
const (
	// ErrNotCoordinator: another node decides, or none does yet.
	ErrNotCoordinator = protocol.Error("shard coordinator: this node is not the coordinator")
	// ErrNoShard: the type has no such shard.
	ErrNoShard = protocol.Error("shard coordinator: no such shard")
	// ErrUnfit: the node cannot take the shard.
	ErrUnfit = protocol.Error("shard coordinator: the node cannot take it")
	// ErrUnsettled: the shard has no home yet, or is on its way.
	ErrUnsettled = protocol.Error("shard coordinator: the shard has no home to leave")
)

// A wish is that of somebody outside, and which regions may not know of it yet.
type wish struct {
	protocol.Wish
	missing nodes
	due     time.Time // when they are told again
	saved   bool      // in the store, if there is one
}

// wished takes in a wish of somebody outside. It stands until another is made for
// the shard, over changes of the coordinator and restarts of nodes: see
// [protocol.Wish]. What can be moved at once is.
func (c *Core) wished(now time.Time, in Wish) error {
	r := c.reign
	if err := c.decides(in.Shard); err != nil {
		return err
	}
	to, at := c.view.At(in.To)
	if in.Now && !at {
		return fmt.Errorf("%w: there is no member at %s", ErrUnfit, in.To)
	}
	if in.Now {
		if why := c.unfit(to.ID); why != "" {
			return fmt.Errorf("%w: %s %s", ErrUnfit, to.ID, why)
		}
	}
	w := &wish{Wish: protocol.Wish{Shard: in.Shard, To: in.To, At: r.epoch()}, due: now}
	for _, id := range c.registered() {
		w.missing.add(id)
	}
	r.wish(w)
	c.tellWishes(now)
	if s, ok := r.shards[in.Shard]; ok { // what nobody has asked for goes there when somebody does
		c.heed(now, s)
	}
	return nil
}

// release takes a wish back and has the shard handed over, to another node if
// there is one: whoever the strategy names.
func (c *Core) release(now time.Time, name string) error {
	r := c.reign
	if err := c.decides(name); err != nil {
		return err
	}
	s, ok := r.shards[name]
	if !ok {
		return fmt.Errorf("%w: shard %s: no home is known, and nobody waits for one", ErrUnsettled, name)
	}
	h, ok := c.settled(s)
	if !ok {
		text := "it has no home"
		if why := c.Why(name); len(why) > 0 {
			text = why[0].String()
		}
		return fmt.Errorf("%w: shard %s: %s", ErrUnsettled, name, text)
	}
	if len(c.candidates()) == 0 {
		return fmt.Errorf("%w: shard %s: no node can take it", ErrUnfit, name)
	}
	if _, wished := r.wishes[name]; wished {
		if err := c.wished(now, Wish{Shard: name}); err != nil {
			return err
		}
	}
	s.shuns = h.Node
	c.begin(now, s)
	return nil
}

// decides tells why this node cannot answer for the shard, if it cannot.
func (c *Core) decides(name string) error {
	switch {
	case c.reign == nil:
		return ErrNotCoordinator
	case !c.set.Exists(name):
		return fmt.Errorf("%w: %q", ErrNoShard, name)
	}
	return nil
}

// heed hands over a shard that is not where it is wished, if a region there can
// take it.
func (c *Core) heed(now time.Time, s *shard) {
	h, ok := c.home(s)
	to, wished := c.wishedRegion(s.name)
	if ok && wished && to != h.Node {
		c.begin(now, s)
	}
}

// wishedRegion is where a shard is wished, if it can go there now.
func (c *Core) wishedRegion(name string) (member.ID, bool) {
	w := c.reign.wishes[name]
	if w == nil || w.To.Host == "" {
		return member.ID{}, false
	}
	m, ok := c.view.At(w.To)
	return m.ID, ok && c.unfit(m.ID) == ""
}

// registered lists the regions that have reported, in order.
func (c *Core) registered() []member.ID {
	var ids []member.ID
	for _, m := range c.view.Members {
		if p := c.reign.parties[m.ID]; p != nil && p.answered && c.lives(m.ID) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// learnWishes takes in what a region keeps, in its first report of the term. Of
// what it does not know it is told, and so are the others of what they may not.
func (c *Core) learnWishes(now time.Time, from member.ID, kept []protocol.Wish) {
	r := c.reign
	has := make(map[string]protocol.Epoch, len(kept))
	for _, k := range kept {
		has[k.Shard] = k.At
		if w := r.wishes[k.Shard]; c.set.Exists(k.Shard) && (w == nil || w.At.Less(k.At)) {
			w = &wish{Wish: k, due: now}
			for _, id := range c.registered() {
				w.missing.add(id)
			}
			r.wish(w)
		}
	}
	for name, w := range r.wishes { // any order: nothing is put out
		if has[name].Less(w.At) {
			w.missing.add(from)
			w.due = now
		} else {
			w.missing.remove(from)
		}
	}
}

// tellWishes tells the regions of wishes until they have confirmed that they keep
// them.
func (c *Core) tellWishes(now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(c.reign.wishes)) {
		w := c.reign.wishes[name]
		if len(w.missing) == 0 || now.Before(w.due) {
			continue
		}
		w.due = now.Add(c.set.Retry)
		for _, id := range w.missing {
			c.say(id, protocol.Wishes{Header: c.reign.head(), Wishes: []protocol.Wish{w.Wish}})
		}
	}
}

func (c *Core) wishKept(from member.ID, k protocol.Tenure) {
	if w := c.reign.wishes[k.Shard]; w != nil && !k.Epoch.Less(w.At) {
		w.missing.remove(from)
	}
}

// unkept tells whether some region has not confirmed a wish.
func (r *reign) unkept() bool {
	for _, w := range r.wishes { // any order: only whether there is one
		if len(w.missing) > 0 {
			return true
		}
	}
	return false
}

// strategy is that of the type; shards whose home is wished go before it.
func (c *Core) strategy(s placement.State) placement.Strategy {
	if _, external := c.set.Strategy.(placement.External); external || len(s.Homes) == 0 {
		return c.set.Strategy
	}
	return placement.External{Otherwise: c.set.Strategy}
}

// wish puts a wish in the place of an older one.
func (r *reign) wish(w *wish) {
	r.wishes[w.Shard] = w
	if w.To.Host == "" {
		delete(r.homes, w.Shard)
	} else {
		r.homes[w.Shard] = w.To
	}
}
