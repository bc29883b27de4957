package troupe

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/discover"
	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/transport"
)

// Config declares a node. The zero value is a working cluster of one on a free
// port of the loopback interface. It is read once, at [Start], and never
// changed.
type Config struct {
	// Name of the cluster; nodes of another name are refused. Letters, digits,
	// - and _. Default "troupe".
	Name string
	// Scheme of the addresses that tools see, SCHEME://NAME@host:port.
	// Default "troupe".
	Scheme string
	// Listen is the host:port to bind; port 0 picks a free one. Default
	// "127.0.0.1:0".
	Listen string
	// Advertise is the host:port that peers dial. Default: what was bound.
	Advertise string
	// TLS secures links by certificates, read again while the node runs. Default:
	// none; see [transport.TLS].
	TLS *transport.TLS
	// Secret secures links by a secret that all nodes of the cluster share, of 16
	// bytes or more: both sides prove that they know it, and links are encrypted.
	// With TLS both are asked for. Default: none; see [transport.ReadSecret].
	Secret transport.Secret
	// Insecure allows links beyond the loopback interface without either: anybody
	// who reaches the port can join. It rules out TLS and Secret.
	Insecure bool
	// Seeds are the host:port of nodes to join through. Only the first seed
	// founds a cluster when no other answers. Without seeds, contacts and a store
	// the node founds a cluster of its own.
	Seeds []string
	// Contacts finds nodes to join through instead, none of which is special:
	// when none is in a cluster they agree who founds one. See RequiredContacts.
	Contacts discover.Seeds
	// RequiredContacts is how many nodes, this one counted, must have found each
	// other before one of them founds a cluster; it begins when so many have
	// joined. There is never a second cluster if it is more than half of the nodes
	// that are started. Default for a [discover.Static] list: more than half of
	// it; there is none for other contacts. With a Store it is not used.
	RequiredContacts int
	// Roles this node has: entity types and rules may ask for one. A role does
	// not start with "dc-".
	Roles []string
	// DataCenter this node is in. Default "default".
	DataCenter string
	// AppVersion of the program, for roll-outs: up to three dotted numbers.
	AppVersion string
	// JoinAnyway lets this node in although settings differ that should agree in
	// the cluster (downing, heartbeats and the like): for the time in which a
	// change of them is rolled out. Default: such a node ends with both values.
	JoinAnyway bool
	// MinMembers is how many members must have joined before the first become
	// Up. Default 1.
	MinMembers int
	// MinMembersOf is the same for members with a role. Default 0 for each.
	MinMembersOf map[string]int
	// Downing decides which side of a partition survives, and after how long;
	// it must agree in the cluster. The default strategy is
	// [sbr.KeepMajority], and with a Store [sbr.LeaseMajority], whose smaller side
	// asks 2 s later.
	Downing sbr.Settings
	// NoCrashDetection makes nodes wait for silence before they hold a member for
	// dead, though its links broke and its address refuses. It must be set where
	// something refuses or resets connections in the name of living nodes: a proxy,
	// a load balancer, a sidecar, a firewall. It must agree in the cluster. Default
	// false: a crash is confirmed within Times.Isolation and a few round trips.
	NoCrashDetection bool
	// Store is the database that the nodes of the cluster share. Its runner table
	// leads newcomers to the members, beside Seeds or Contacts, it decides who
	// founds the cluster, and its lease which side of a partition survives. The
	// node does not close it. Default none.
	Store store.Store
	// Times are the membership's intervals and time-outs.
	Times Times
	// LeaveWithin is how long the node's end may take in all, from [Node.Leave] until
	// all is quiet; see there. At least 1 s. Default 28 s: supervisors of processes
	// tend to lose patience after 30.
	LeaveWithin time.Duration
	// Transport carries the links. Default [transport.TCP].
	Transport transport.Transport
	// Lanes is how many connections for ordinary messages each pair of nodes
	// has; messages of one shard or actor share one. Default: half of the
	// processors, 1 to 4. More would not be read sooner, and what is sent at the
	// same time would be written in more and smaller pieces. Nodes may differ in it.
	Lanes int
	// Log takes what the node has to say. Default [slog.Default].
	Log *slog.Logger
	// DeadLetter is called with each message that no actor or entity of this node
	// handled; it must not block. They are counted in any case: see
	// [Node.System] and the regions of package shard.
	DeadLetter func(actor.DeadLetter)
	// Roundtrip is a switch for tests: messages to entities of the own node are
	// encoded and decoded too, so that one that could not travel fails there.
	Roundtrip bool
}

// Times are the intervals and time-outs of the membership protocol.
type Times = gossip.Times

const (
	defaultName       = "troupe"
	defaultListen     = "127.0.0.1:0"
	defaultDataCenter = "default"
	maxLanes          = 64
)

func defaultLanes() int { return min(max(1, runtime.GOMAXPROCS(0)/2), 4) }

func defaultStrategy(s store.Store) sbr.Strategy {
	if s == nil {
		return sbr.KeepMajority{}
	}
	return sbr.LeaseMajority{AcquireDelay: 2 * time.Second}
}

// settings is a Config with the defaults filled in and the texts parsed.
type settings struct {
	Config
	listen, advertise member.Address
	seeds             []member.Address
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// resolve fills in the defaults and reports all problems together.
func (c Config) resolve() (settings, error) {
	c.Name = cmp.Or(c.Name, defaultName)
	c.Scheme = cmp.Or(c.Scheme, defaultName)
	c.Listen = cmp.Or(c.Listen, defaultListen)
	c.DataCenter = cmp.Or(c.DataCenter, defaultDataCenter)
	c.Lanes = cmp.Or(c.Lanes, defaultLanes())
	c.Log = cmp.Or(c.Log, slog.Default())
	c.Roles = slices.Compact(slices.Sorted(slices.Values(c.Roles)))
	c.Downing.Strategy = cmp.Or(c.Downing.Strategy, defaultStrategy(c.Store))
	c.Transport = cmp.Or[transport.Transport](c.Transport, transport.TCP{})
	c.LeaveWithin = cmp.Or(c.LeaveWithin, defaultLeaveWithin)
	c.MinMembersOf = maps.Clone(c.MinMembersOf)
	s := settings{Config: c}
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	name := func(field, text string) {
		if !namePattern.MatchString(text) {
			problem("%s %q: use letters, digits, - and _", field, text)
		}
	}
	name("Name", c.Name)
	name("Scheme", c.Scheme)
	name("DataCenter", c.DataCenter)
	address := func(field, text string, into *member.Address) {
		var err error
		if *into, err = member.ParseAddress(text); err != nil {
			problem("%s: %w", field, err)
		}
	}
	address("Listen", c.Listen, &s.listen)
	if c.Advertise != "" {
		address("Advertise", c.Advertise, &s.advertise)
	} else if ip, err := netip.ParseAddr(s.listen.Host); err == nil && ip.IsUnspecified() {
		problem("Listen %s binds all interfaces: set Advertise to the host:port that peers can dial", c.Listen)
	}
	for _, seed := range c.Seeds {
		var a member.Address
		address("Seeds", seed, &a)
		s.seeds = append(s.seeds, a)
	}
	c.checkRoles(problem)
	c.resolveContacts(&s, problem)
	c.checkDowning(problem)
	if c.LeaveWithin < time.Second {
		problem("LeaveWithin is %v: use 1 s or more, or none for %v", c.LeaveWithin, defaultLeaveWithin)
	}
	if err := c.Times.Validate(); err != nil {
		problem("Times: %w", err)
	}
	if c.Lanes < 1 || c.Lanes > maxLanes {
		problem("Lanes is %d: use 1 to %d", c.Lanes, maxLanes)
	}
	return s, errors.Join(problems...)
}

// checkRoles checks the roles, and how many members there must be, also of a role.
func (c Config) checkRoles(problem func(format string, args ...any)) {
	for _, r := range c.Roles {
		if r == "" || strings.HasPrefix(r, "dc-") {
			problem("Roles: %q is not a role name (empty, or reserved by the prefix dc-)", r)
		}
	}
	if c.MinMembers < 0 {
		problem("MinMembers is %d: use 1 or more", c.MinMembers)
	}
	for _, role := range slices.Sorted(maps.Keys(c.MinMembersOf)) {
		if least := c.MinMembersOf[role]; least < 0 || role == "" {
			problem("MinMembersOf[%q] is %d: name a role, and use 0 or more", role, least)
		}
	}
}

// checkDowning checks what decides that a member is dead.
func (c Config) checkDowning(problem func(format string, args ...any)) {
	if _, lease := c.Downing.Strategy.(sbr.LeaseMajority); lease && c.Store == nil {
		problem("Downing.Strategy is %s, which needs a database that all sides can reach: set Store, or use sbr.KeepMajority or sbr.StaticQuorum", c.Downing.Strategy.Name())
	}
	if err := c.Downing.Validate(); err != nil {
		problem("Downing: %w", err)
	}
	if c.NoCrashDetection && c.Times.Isolation != 0 {
		problem("Times.Isolation is %v, and NoCrashDetection switches off what it is for: leave one of them out", c.Times.Isolation)
	}
}

// resolveContacts checks the ways to find the cluster against each other.
func (c Config) resolveContacts(s *settings, problem func(format string, args ...any)) {
	static, isStatic := c.Contacts.(discover.Static)
	switch {
	case c.RequiredContacts < 0:
		problem("RequiredContacts is %d: use more than half of the nodes that are started", c.RequiredContacts)
	case c.RequiredContacts > 0 && c.Contacts == nil:
		problem("RequiredContacts is %d, and there are no Contacts to count: set them, or leave it out", c.RequiredContacts)
	case c.RequiredContacts > 0 && c.Store != nil:
		problem("RequiredContacts is %d, and the Store decides who founds the cluster: leave it out", c.RequiredContacts)
	case c.RequiredContacts == 0 && c.Contacts != nil && c.Store == nil && !isStatic:
		problem("RequiredContacts must say how many nodes found a cluster together: use more than half of those that are started")
	case isStatic:
		s.RequiredContacts = max(c.RequiredContacts, 1) // the membership asks for more than half of the list
	}
	if c.Contacts != nil && len(c.Seeds) > 0 {
		problem("Seeds and Contacts are both set: the first seed founds a cluster, contacts agree who does; use one of them")
	}
	if isStatic && len(static) == 0 {
		problem("Contacts is an empty list: name the nodes, or leave it out for a cluster of one")
	}
	if v, ok := c.Contacts.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			problem("Contacts: %w", err)
		}
	}
}
