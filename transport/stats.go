package transport

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// Traffic counts frames and the bytes of their payloads. Sent means handed to
// the operating system, not arrived.
type Traffic struct {
	SentFrames, SentBytes         uint64
	ReceivedFrames, ReceivedBytes uint64
}

// Stats counts since Listen. The names in the maps are stable; reasons that
// never happened are there with zero, so that a rate can be computed.
type Stats struct {
	Control, User Traffic // User is all ordinary lanes

	Rejected  map[string]uint64 // frames that Send did not take: "full", "too_large"
	Dropped   map[string]uint64 // frames taken and lost, see the drop reasons
	Refused   map[string]uint64 // connections that this node refused or ended, by Refusal
	RefusedBy map[string]uint64 // connections of this node that peers refused or ended, by Refusal

	Dials, DialErrors  uint64 // attempts to connect and shake hands, and those that failed
	LinksUp, LinksDown uint64 // times a link was made, and ended
	Panics             uint64 // of Handler.Receive

	Security    string       // of all links: "plain", "secret", "tls", "tls+secret"
	Certificate *Certificate // that this node shows; nil without [Config].TLS

	Links []LinkStats // one for each peer that this node sends to, in order of ID
}

// LinkStats is the state of one link, for people.
type LinkStats struct {
	Peer      member.ID // UID 0: to whoever is at the address
	State     string    // "idle", "dialing", "up", "closing"
	Since     time.Time // of this state
	Waiting   int       // bytes, in all lanes
	Failures  int       // attempts that failed since the link was last up for good
	LastError string    // of the last attempt or break, empty if none
	Advice    string    // what somebody can do about it, empty if that is not known
}

// A drop is why a frame that was taken did not go out.
type drop uint8

const (
	dropBroken       drop = iota // it was being written when the link broke
	dropGaveUp                   // it waited longer than Config.GiveUp for a link
	dropRefused                  // the peer refuses this node
	dropIncarnation              // another incarnation is at the address now
	dropQuarantined              // the peer was quarantined
	dropDisconnected             // Disconnect ended before it was written
	dropClosed                   // Close ended before it was written
	dropTooLarge                 // beyond the limit that the peer told after it was queued
	dropStale                    // received, but of a connection that a newer one replaced
	endOfDrops
)

var dropNames = [endOfDrops]string{
	dropBroken: "broken", dropGaveUp: "gave_up", dropRefused: "refused", dropIncarnation: "incarnation",
	dropQuarantined: "quarantined", dropDisconnected: "disconnected", dropClosed: "closed", dropTooLarge: "too_large",
	dropStale: "stale",
}

// A rejection is why Send did not take a frame.
type rejection uint8

const (
	rejectFull rejection = iota
	rejectTooLarge
	endOfRejections
)

var rejectionNames = [endOfRejections]string{rejectFull: "full", rejectTooLarge: "too_large"}

// traffic is one lane class's counters; owners add once per batch.
type traffic struct {
	sentFrames, sentBytes, receivedFrames, receivedBytes atomic.Uint64
}

func (t *traffic) snapshot() Traffic {
	return Traffic{
		SentFrames: t.sentFrames.Load(), SentBytes: t.sentBytes.Load(),
		ReceivedFrames: t.receivedFrames.Load(), ReceivedBytes: t.receivedBytes.Load(),
	}
}

// counters are an endpoint's; reading them disturbs nobody.
type counters struct {
	control, user              traffic
	rejected                   [endOfRejections]atomic.Uint64
	dropped                    [endOfDrops]atomic.Uint64
	refused, refusedBy         [endOfRefusals]atomic.Uint64
	dials, dialErrors          atomic.Uint64
	linksUp, linksDown, panics atomic.Uint64
}

func (c *counters) lane(l Lane) *traffic {
	if l == Control {
		return &c.control
	}
	return &c.user
}

func (c *counters) drop(why drop, frames int) { c.dropped[why].Add(uint64(frames)) }

func (c *counters) snapshot() Stats {
	return Stats{
		Control: c.control.snapshot(), User: c.user.snapshot(),
		Rejected:  byName(rejectionNames[:], c.rejected[:]),
		Dropped:   byName(dropNames[:], c.dropped[:]),
		Refused:   byName(refusalNames[:], c.refused[:]),
		RefusedBy: byName(refusalNames[:], c.refusedBy[:]),
		Dials:     c.dials.Load(), DialErrors: c.dialErrors.Load(),
		LinksUp: c.linksUp.Load(), LinksDown: c.linksDown.Load(), Panics: c.panics.Load(),
	}
}

func byName(names []string, counts []atomic.Uint64) map[string]uint64 {
	m := make(map[string]uint64, len(names))
	for i, name := range names {
		if name != "" {
			m[name] = counts[i].Load()
		}
	}
	return m
}

// sortLinks puts a listing in the order of identities.
func sortLinks(links []LinkStats) []LinkStats {
	slices.SortFunc(links, func(a, b LinkStats) int { return a.Peer.Compare(b.Peer) })
	return links
}
