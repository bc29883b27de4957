package sim

// rare are the paths that storms must have taken at least once, in the usual
// number of seeds: a fault that never meets what it is meant to disturb tests
// nothing.
var rare = []string{
	"a crash is confirmed",
	"a held node goes on",
	"a node downs itself",
	"a node holds everything",
	"a node notices that it stood still",
	"a removed node is told so",
	"a successor takes the address of a member",
	"all is downed because nothing is stable",
	"indirectly connected members are downed",
	"members become weakly up",
	"the smaller side downs itself",
	"unreachable members come back",
}

// sometimes notes that a rare path was taken.
func (w *World) sometimes(what string) { w.stats.rare[what]++ }
