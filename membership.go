package troupe

import (
	"context"
	"log/slog"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/membership"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/wire"
)

// membershipProtocol names the messages of the membership on the wire.
var membershipProtocol = wire.MustProtocol[gossip.Message](
	wire.Message("troupe.gossip.init-join", gossip.InitJoin{}),
	wire.Message("troupe.gossip.init-join-ack", gossip.InitJoinAck{}),
	wire.Message("troupe.gossip.init-join-nack", gossip.InitJoinNack{}),
	wire.Message("troupe.gossip.join", gossip.Join{}),
	wire.Message("troupe.gossip.welcome", gossip.Welcome{}),
	wire.Message("troupe.gossip.status", gossip.GossipStatus{}),
	wire.Message("troupe.gossip.envelope", gossip.GossipEnvelope{}),
	wire.Message("troupe.gossip.exiting-confirmed", gossip.ExitingConfirmed{}),
	wire.Message("troupe.gossip.heartbeat", gossip.Heartbeat{}),
	wire.Message("troupe.gossip.heartbeat-rsp", gossip.HeartbeatRsp{}),
	wire.Message("troupe.gossip.crash-vote", gossip.CrashVote{}),
)

func newCore(s settings, id ID) *membership.Core {
	return membership.New(membership.Config{
		Gossip: gossip.Config{
			Self: id, Cluster: s.Name, Roles: s.Roles, DataCenter: s.DataCenter, AppVersion: s.AppVersion,
			Times: s.Times, MinMembers: s.MinMembers, MinRoleMembers: s.MinMembersOf, Rand: newRand(id),
			Agree: s.agreement(), JoinAnyway: s.JoinAnyway,
		},
		Downing: s.Downing, NoCrashDetection: s.NoCrashDetection,
	})
}

// An OtherCluster is a cluster with the name of this one.
type OtherCluster = gossip.Alien

// OtherClusters are the clusters of this one's name from which something was heard
// within the last minute: there should be none. Somebody must stop the nodes of
// all but one; started anew, they join that one.
func (n *Node) OtherClusters() (others []OtherCluster) {
	n.onOwner(func() { others = n.core.Machine().Aliens(time.Now()) })
	return others
}

func (n *Node) sendMembership(p gossip.Packet) {
	payload, _, err := membershipProtocol.Append(nil, p.Msg)
	if err == nil {
		err = n.members.sendControl(p.To, payload)
	}
	if err != nil { // best effort: a timer of the protocol makes up for it
		n.log.Debug("membership message was not sent", slog.Any("to", p.To), slog.Any("error", err))
	}
}

// membersReceiver is the handler of the membership port.
type membersReceiver struct{ n *Node }

func (h membersReceiver) Receive(from member.ID, _ transport.Lane, payload []byte) {
	m, err := membershipProtocol.Decode(payload, nil)
	if err != nil {
		h.n.counts.add(dropBadMembership)
		return
	}
	h.n.offer(gossip.Received{From: from, Msg: m, Arrived: time.Now()})
}

// offer hands an input to the owner goroutine if its inbox has room: what
// comes from the network is best effort and must not block a link.
func (n *Node) offer(in gossip.Input) {
	select {
	case n.inputs <- in:
	default:
		n.counts.add(dropMembershipBusy)
	}
}

// complainEvery is how often one kind of complaint about one peer is logged.
const complainEvery = time.Minute

type complaint struct {
	about ID
	kind  string
}

// logEvent says what an operator wants to read later.
func (n *Node) logEvent(e gossip.Event) {
	switch e := e.(type) {
	case gossip.MemberChanged:
		n.log.Info("member changed", slog.Any("member", e.Member.ID), slog.String("status", e.Member.Status.String()))
	case gossip.MemberRemoved:
		n.log.Info("member removed", slog.Any("member", e.Member.ID), slog.String("was", e.Previous.String()))
	case gossip.UnreachableMember:
		level := slog.LevelWarn
		if e.Member.Status == member.Exiting {
			level = slog.LevelInfo // it has ended as it should
		}
		n.log.Log(context.Background(), level, "member unreachable", slog.Any("member", e.Member.ID))
	case gossip.ReachableMember:
		n.log.Info("member reachable again", slog.Any("member", e.Member.ID))
	case gossip.LeaderChanged:
		if e.Leader.IsZero() {
			n.log.Warn("nobody can lead the cluster: no member that is up is reachable")
			return
		}
		n.log.Info("leader changed", slog.Any("leader", e.Leader))
	case gossip.Stalled:
		n.log.Warn("this node did not run for a while; it withholds verdicts on others", slog.Duration("by", e.By))
	case gossip.CrashVoted, gossip.CrashConfirmed, gossip.ListenerLost:
		n.logCrash(e)
	case Downing:
		n.logDowning(e)
	case gossip.OtherCluster:
		if skipped, ok := n.complaints.Due(time.Now(), complaint{e.From, "other cluster"}); ok {
			n.log.Error("another cluster of the same name exists", slog.Any("from", e.From), slog.String("cluster", e.ID.String()),
				slog.String("here", n.View().Cluster.String()), slog.Int("alike", skipped))
		}
	case gossip.JoinerRefused:
		if skipped, ok := n.complaints.Due(time.Now(), complaint{e.Joiner, "settings"}); ok {
			n.log.Warn("a node was refused: its settings differ", slog.Any("joiner", e.Joiner), slog.String("settings", e.Text), slog.Int("alike", skipped))
		}
	case gossip.Ignored:
		if skipped, ok := n.complaints.Due(time.Now(), complaint{e.From, e.Reason.String()}); ok {
			n.log.Warn("message ignored", slog.Any("from", e.From), slog.String("reason", e.Reason.String()),
				slog.String("text", e.Text), slog.Int("alike", skipped))
		}
	}
}
