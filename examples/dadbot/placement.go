package main

import (
	"flag"

	"github.com/troupe-go/troupe/examples/dadbot/house"
	"github.com/troupe-go/troupe/examples/dadbot/settings"
)

// placementFlags declare who decides where Dads live.
func (f *nodeFlags) placementFlags(s *flag.FlagSet) {
	s.StringVar(&f.placement, "placement", string(house.Coordinator), "who decides where a Dad lives, the same on all nodes: coordinator (the oldest node that hosts any) or ring (all nodes compute it, and lock it in the -store)")
	s.IntVar(&f.opts.house.Shards, "shards", 0, "`number` of shards, the same on all nodes (default 1000, with -placement ring 300)")
	s.StringVar(&f.role, "role", "", "edge (hosts no Dad) or dad (default: both)")
}

// checkPlacement reads these flags.
func (f *nodeFlags) checkPlacement() error {
	if h := f.opts.house; h.Shards < 0 || h.Shards == 0 && f.given("shards") {
		return badUsage("-shards is %d: use 1 or more, the same on all nodes", h.Shards)
	}
	switch p := house.Placement(f.placement); {
	case p != house.Coordinator && p != house.Ring:
		return badUsage("-placement %q is unknown%s", f.placement, settings.Suggest(f.placement, []string{string(house.Coordinator), string(house.Ring)}, "use coordinator or ring"))
	case p == house.Ring && f.store == "":
		return badUsage("-placement ring needs a database in which nodes lock what they host: name it with -store")
	default:
		f.opts.house.Placement = p
		return nil
	}
}
