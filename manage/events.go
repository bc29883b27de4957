package manage

import (
	"slices"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/internal/member"
)

// DomainEvent is one change of the membership as tools read it. Fields that an
// event does not have are absent.
type DomainEvent struct {
	Member         *EventMember `json:"member,omitempty"`
	PreviousStatus string       `json:"previousStatus,omitempty"` // of a MemberRemoved
	Role           string       `json:"role,omitempty"`           // of a RoleLeaderChanged
	Address        string       `json:"address,omitempty"`        // of a new leader; absent: nobody leads
	DataCenter     string       `json:"dataCenter,omitempty"`     // of one that is (un)reachable
	Type           string       `json:"type"`
}

// EventMember is a member inside a [DomainEvent].
type EventMember struct {
	UniqueAddress UniqueAddress `json:"uniqueAddress"`
	Status        string        `json:"status"`
	Roles         []string      `json:"roles"`
	DataCenter    string        `json:"dataCenter"`
}

// UniqueAddress is an incarnation. Its UID is a number here, unlike in [Member].
type UniqueAddress struct {
	Address string `json:"address"`
	LongUID int64  `json:"longUid"`
}

// The classes of events that contain others.
const (
	anyEvent           = "ClusterDomainEvent"
	memberEvent        = "MemberEvent"
	reachabilityEvent  = "ReachabilityEvent"
	centerEvent        = "DataCenterReachabilityEvent"
	clusterShutsDown   = "ClusterShuttingDown"
	memberRemovedEvent = "MemberRemoved"
)

// kinds are the types of events with the class that each is in.
var kinds = map[string]string{
	"MemberJoined": memberEvent, "MemberWeaklyUp": memberEvent, "MemberUp": memberEvent, "MemberLeft": memberEvent,
	"MemberExited": memberEvent, "MemberDowned": memberEvent, memberRemovedEvent: memberEvent,
	"MemberPreparingForShutdown": memberEvent, "MemberReadyForShutdown": memberEvent,
	"UnreachableMember": reachabilityEvent, "ReachableMember": reachabilityEvent,
	"UnreachableDataCenter": centerEvent, "ReachableDataCenter": centerEvent,
	"LeaderChanged": anyEvent, "RoleLeaderChanged": anyEvent, clusterShutsDown: anyEvent,
}

// A filter is the types that a caller asked for; none means all.
type filter []string

// passes tells whether an event of a type is among those asked for, itself or
// by a class that it is in. Types that do not exist match nothing.
func (f filter) passes(kind string) bool {
	return len(f) == 0 || slices.Contains(f, kind) || slices.Contains(f, kinds[kind]) || slices.Contains(f, anyEvent)
}

// changed names what a new status of a member is called.
var changed = map[member.Status]string{
	member.Joining: "MemberJoined", member.WeaklyUp: "MemberWeaklyUp", member.Up: "MemberUp", member.Leaving: "MemberLeft",
	member.Exiting: "MemberExited", member.Down: "MemberDowned",
	member.PreparingForShutdown: "MemberPreparingForShutdown", member.ReadyForShutdown: "MemberReadyForShutdown",
}

// eventOf makes the document of an event; ok is false for those that tools do
// not know.
func eventOf(n Namer, e troupe.Event) (doc DomainEvent, ok bool) {
	uri := uriOf(n)
	about := func(kind string, m member.Member) (DomainEvent, bool) {
		return DomainEvent{Type: kind, Member: &EventMember{
			UniqueAddress: UniqueAddress{Address: uri(m.Address), LongUID: m.UID},
			Status:        m.Status.String(), Roles: rolesOf(m), DataCenter: m.DataCenter,
		}}, kind != ""
	}
	leader := func(kind, role string, id member.ID) (DomainEvent, bool) {
		doc := DomainEvent{Type: kind, Role: role}
		if !id.IsZero() {
			doc.Address = uri(id.Address)
		}
		return doc, true
	}
	switch e := e.(type) {
	case troupe.MemberChanged:
		return about(changed[e.Member.Status], e.Member)
	case troupe.MemberRemoved:
		doc, ok := about(memberRemovedEvent, e.Member)
		doc.PreviousStatus = e.Previous.String()
		return doc, ok
	case troupe.UnreachableMember:
		return about("UnreachableMember", e.Member)
	case troupe.ReachableMember:
		return about("ReachableMember", e.Member)
	case troupe.UnreachableDataCenter:
		return DomainEvent{Type: "UnreachableDataCenter", DataCenter: e.Name}, true
	case troupe.ReachableDataCenter:
		return DomainEvent{Type: "ReachableDataCenter", DataCenter: e.Name}, true
	case troupe.LeaderChanged:
		return leader("LeaderChanged", "", e.Leader)
	case troupe.RoleLeaderChanged:
		return leader("RoleLeaderChanged", e.Role, e.Leader)
	default:
		return DomainEvent{}, false
	}
}
