package shard

import (
	"log/slog"

	"github.com/troupe-go/troupe/shard/internal/coordinator"
	"github.com/troupe-go/troupe/shard/internal/region"
)

// logRegion tells the operator what the region's core decided on its own.
func (c *control) logRegion(e region.Event) {
	switch e := e.(type) {
	case region.Disagrees:
		if e.Coordinator == c.self {
			break // this node's ring, which has named the other node itself
		}
		c.complain.warn("this node gets no shards, for it declares the type differently; start it with what the coordinator has", "disagrees",
			slog.String("here", e.Ours), slog.String("there", e.Coordinated), slog.Any("coordinator", e.Coordinator))
	case region.MarkersMissing:
		c.complain.warn("shard stops without the last word of other nodes", "markers missing",
			slog.String("shard", e.Shard), slog.Any("nodes", e.From))
	case region.TenureDenied:
		c.complain.warn("shard stops, for the store knows a newer owner", "tenure denied",
			slog.String("shard", e.Shard), slog.Any("epoch", e.Epoch), slog.Any("highest", e.Highest))
	case region.CarryMissing:
		c.complain.warn("shard opens without the last word of its previous host", "carry missing",
			slog.String("shard", e.Shard), slog.Any("host", e.From))
	}
}

// logCoordinator tells what the coordinator on this node decided. What happens
// to single shards in the usual course is for debugging: a leave moves a
// thousand.
func (c *control) logCoordinator(e coordinator.Event) {
	switch e := e.(type) {
	case coordinator.Reigning:
		c.log.Info("this node coordinates the type", slog.Uint64("term", e.Term))
	case coordinator.Surveyed:
		c.log.Info("all hosts have reported", slog.Uint64("term", e.Term), slog.Int("shards", e.Shards))
	case coordinator.Unraised:
		c.log.Warn("this node coordinates by a term that the store has not confirmed; it goes on asking", slog.Uint64("term", e.Term))
	case coordinator.Superseded:
		c.log.Info("a region obeys a higher term", slog.Uint64("term", e.Term), slog.Uint64("higher", e.By))
	case coordinator.Resigned:
		c.log.Info("another node coordinates the type", slog.Uint64("term", e.Term))
	case coordinator.Moving:
		c.log.Debug("shard moves", slog.String("shard", e.Home.Shard), slog.Any("from", e.Home.Node))
	case coordinator.Placed:
		c.log.Debug("shard placed", slog.String("shard", e.Home.Shard), slog.Any("at", e.Home.Node), slog.Any("epoch", e.Home.Epoch))
	case coordinator.Kept:
		c.complain.warn("shard stays, for some nodes did not acknowledge its hand-over", "hand-over given up",
			slog.String("shard", e.Home.Shard), slog.Any("host", e.Home.Node), slog.Any("silent", e.Silent))
	case coordinator.GoneAhead:
		c.complain.warn("hand-over goes on without some nodes' word", "hand-over not acknowledged",
			slog.String("shard", e.Home.Shard), slog.Any("host", e.Home.Node), slog.Any("silent", e.Silent))
	case coordinator.Slow:
		c.complain.warn("shard has not stopped in time; it is not started elsewhere before", "slow hand-over",
			slog.String("shard", e.Home.Shard), slog.Any("host", e.Home.Node), slog.Time("since", e.Since))
	case coordinator.DoubleHosted:
		c.complain.warn("shard had two hosts; the older copy is stopped", "two hosts",
			slog.String("shard", e.Stays.Shard), slog.Any("stays", e.Stays.Node), slog.Any("stops", e.Stops.Node))
	case coordinator.Disagrees:
		c.complain.warn("a node gets no shards, for it declares the type differently", "disagrees",
			slog.Any("other", e.Region), slog.String("there", e.Theirs), slog.String("here", e.Ours))
	}
}
