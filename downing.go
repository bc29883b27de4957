package troupe

import (
	"log/slog"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/membership"
	"github.com/troupe-go/troupe/sbr"
)

// Downing is the [Event] that carries the split brain resolver's news: who was
// missed, who came back, and what was decided and why. See [sbr.Event].
type Downing = membership.Downing

// WhatIf tells which side would survive each split of the cluster as this node
// sees it, and how many members may crash at the same time.
func (n *Node) WhatIf() sbr.Outlook {
	v := n.View()
	var own []Member
	for _, m := range v.Members {
		if m.DataCenter == v.DataCenter {
			own = append(own, m)
		}
	}
	return sbr.WhatIf(n.cfg.Downing.Strategy, own)
}

// logDowning says what the resolver has to say. Noticing is rare enough: see
// [sbr.Noticed].
func (n *Node) logDowning(e Downing) {
	text := slog.String("what", e.News.String())
	switch e.News.(type) {
	case sbr.Noticed:
		n.log.Warn("members cannot be reached", text)
	case sbr.CameBack:
		n.log.Info("members can be reached again", text)
	case sbr.Decision:
		n.log.Warn("split brain resolver", text)
	}
}

// leaseAnswered steps the core with an answer of the arbiter.
func (n *Node) leaseAnswered(ans leaseAnswer) membership.Output {
	before := n.arbiter.won
	granted, current := n.arbiter.settle(ans, n.pulse.hasWoken())
	if ans.err != nil {
		n.log.Warn("the lease that decides between the sides was not granted", slog.Any("error", ans.err))
	}
	if !current {
		return n.core.Step(time.Now(), gossip.Tick{})
	}
	out := n.core.LeaseReply(time.Now(), granted)
	if out.Release && before != ans.owner {
		n.arbiter.giveBack(ans)
	}
	return out
}
