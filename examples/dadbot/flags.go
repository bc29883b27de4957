package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-go/troupe/discover"
	"github.com/troupe-go/troupe/examples/dadbot/dad"
	"github.com/troupe-go/troupe/examples/dadbot/house"
	"github.com/troupe-go/troupe/examples/dadbot/settings"
	"github.com/troupe-go/troupe/sbr"
	"github.com/troupe-go/troupe/transport"
)

const playUsage = `Usage:
  dadbot [-style states|loop]   play a scripted run with three nodes in this process
  dadbot node I [flags]         run one real node, named node-I (I from 0 to 99)

"dadbot node -help" lists the flags of a node.

Flags:
`

const nodeUsage = `Usage: dadbot node I [flags]

Runs one node of a cluster, named node-I (I from 0 to 99). Ctrl-C and SIGTERM
make it leave gracefully; a second one ends it at once. Without flags, nodes
0, 1 and 2 on one machine find each other.

Flags:
`

func parsePlay(args []string, help io.Writer) (dad.Style, error) {
	set := settings.New("")
	style := set.Section("play").String("style", string(dad.StateMachine), "how Dad is written: states or loop")
	rest, _, err := load(set, args, playUsage, help)
	if err != nil {
		return "", err
	}
	if len(rest) > 0 {
		return "", badUsage("%q is no command%s", rest[0], settings.Suggest(rest[0], []string{"node"}, `use "dadbot" or "dadbot node I"`))
	}
	return checkStyle(*style)
}

// nodeOptions is the command line of a node, checked.
type nodeOptions struct {
	name         string
	http, manage string
	audit        string // a path, or empty
	level        *slog.LevelVar
	token        string        // of the management API, or empty: read-only
	store        database      // nil for none
	house        house.Config  // without its recorder and log
	warnings     []error       // of settings that are ignored
	settings     *settings.Set // where all this comes from
}

// nodeFlags are the settings of a node as they were written.
type nodeFlags struct {
	set                  *settings.Set
	listen, seeds        string
	role, style, downing string
	tls                  transport.TLS
	secretFile           string
	store, placement     string
	level                slog.Level
	token, tokenFile     string
	opts                 nodeOptions
}

func newNodeFlags(i int) *nodeFlags {
	f := &nodeFlags{set: settings.New("DADBOT_")}
	f.opts.name = fmt.Sprintf("node-%d", i)
	f.addressFlags(i)
	f.linkFlags()
	f.clusterFlags()
	f.dadFlags()
	f.managementFlags()
	f.resolverFlags()
	s := f.set.Section("times")
	for _, t := range f.times() {
		s.DurationVar(t.value, t.name, t.def, t.usage)
	}
	return f
}

func (f *nodeFlags) addressFlags(i int) {
	s := f.set.Section("addresses")
	s.StringVar(&f.opts.http, "http", local(8080+i), "`address` of the chats and the page")
	s.StringVar(&f.opts.manage, "manage", local(8551+i), "`address` of the management API")
	s.StringVar(&f.listen, "listen", local(defaultPort+i), "`address` for other nodes")
	s.StringVar(&f.opts.house.Cluster.Advertise, "advertise", "", "`address` that other nodes dial (default: -listen)")
}

func (f *nodeFlags) clusterFlags() {
	s, h := f.set.Section("cluster"), &f.opts.house
	s.StringVar(&h.Cluster.Name, "cluster", "dadbot", "`name` of the cluster")
	s.StringVar(&f.seeds, "seeds", strings.Join(defaultSeeds(), ","), "`addresses` of nodes to join through; the first founds the cluster. Or where to look them up: dns:NAME:PORT or srv:NAME")
	s.IntVar(&h.Cluster.RequiredContacts, "required-contacts", 0, "how many nodes must find each other before one of them founds the cluster, no seed being special; more than half of all")
	f.storeFlag(s)
	s.StringVar(&h.Cluster.Scheme, "scheme", "troupe", "`scheme` of addresses in the management API")
	f.placementFlags(s)
}

func (f *nodeFlags) dadFlags() {
	s, h := f.set.Section("dad"), &f.opts.house
	s.StringVar(&f.style, "style", string(dad.StateMachine), "how Dad is written: states or loop")
	s.DurationVar(&h.Dad.Quiet, "quiet", dad.DefaultQuiet, "how long a chat is quiet before Dad thinks")
	s.DurationVar(&h.Dad.Think, "think", dad.DefaultThink, "how long Dad thinks")
	s.StringVar(&f.opts.audit, "audit", "", "`file` to append one line of JSON per event to")
}

func (f *nodeFlags) managementFlags() {
	s := f.set.Section("management")
	s.StringVar(&f.token, "manage-token", "", "`secret` that lets the management API change the cluster; others on this machine may see it: prefer -manage-token-file")
	f.set.Hide("manage-token", func(string) string { return "" })
	s.StringVar(&f.tokenFile, "manage-token-file", "", "`file` with that secret (default: the API is read-only)")
	s.TextVar(&f.level, "log", slog.LevelInfo, "`level` of the log: debug, info, warn or error")
}

func (f *nodeFlags) resolverFlags() {
	s, c := f.set.Section("split-brain-resolver"), &f.opts.house.Cluster
	s.StringVar(&f.downing, "downing", "", "who survives a partition: keep-majority, static-quorum:N, keep-oldest, keep-oldest:down-if-alone, down-all, or with a -store lease-majority (default keep-majority, with a -store lease-majority)")
	s.BoolVar(&c.Downing.DryRun, "downing-dry-run", false, "decide who survives a partition and tell it, but down nobody")
	s.BoolVar(&c.NoCrashDetection, "no-crash-detection", false, "wait for silence instead; for networks that refuse connections in the name of living nodes")
}

// A setting in time: positive, or left to the cluster's default.
type setting struct {
	name  string
	value *time.Duration
	def   time.Duration
	usage string
}

func (f *nodeFlags) times() []setting {
	t, d := &f.opts.house.Cluster.Times, &f.opts.house.Cluster.Downing
	return []setting{
		{"initial-delay", &t.InitialDelay, time.Second, "from becoming a member to the first gossip"},
		{"gossip", &t.Gossip, time.Second, "between rounds of gossip"},
		{"leader-actions", &t.LeaderActions, time.Second, "between the leader's duties"},
		{"reaper", &t.Reaper, time.Second, "between reviews of who is reachable"},
		{"heartbeat", &t.Heartbeat, time.Second, "between heartbeats"},
		{"acceptable-pause", &t.AcceptablePause, 3 * time.Second, "silence that is no reason for suspicion"},
		{"seed-timeout", &t.SeedTimeout, 5 * time.Second, "after so long without an answer the first seed founds a cluster"},
		{"join-retry", &t.JoinRetry, time.Second, "between questions to the seeds"},
		{"isolation", &t.Isolation, 0, "for so long all attempts to reach a node whose link broke must be refused until it counts as crashed (default 500ms)"},
		{"leave-within", &f.opts.house.Cluster.LeaveWithin, 28 * time.Second, "how long a graceful end may take in all"},
		{"stable-after", &d.StableAfter, 0, "how long nothing changes before unreachable nodes are downed; also the margin before their Dads live elsewhere (default: by the size of the cluster, 7s up to 5 nodes)"},
	}
}

const defaultPort = 25520

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func defaultSeeds() []string {
	return []string{local(defaultPort), local(defaultPort + 1), local(defaultPort + 2)}
}

// parseNode reads what follows "node", the environment and the file that they name.
// All problems are reported together.
func parseNode(args []string, help io.Writer) (nodeOptions, error) {
	args = helpFlag(args)
	i, flags, err := splitIndex(args)
	if err != nil && !asksForHelp(args) {
		return nodeOptions{}, err
	}
	f := newNodeFlags(i)
	rest, warnings, err := load(f.set, helpFlag(flags), nodeUsage, help)
	if err != nil {
		return nodeOptions{}, err
	}
	if len(rest) > 0 {
		return nodeOptions{}, badUsage("%q is one argument too many: a node takes its number and flags", rest[0])
	}
	if err := f.check(i); err != nil {
		return nodeOptions{}, usageError{f.set.Mention(err)}
	}
	f.opts.warnings, f.opts.settings = warnings, f.set
	return f.opts, nil
}

// check makes the options of the node, and finds what is wrong with the settings.
func (f *nodeFlags) check(i int) error {
	return errors.Join(f.checkNumbers(), f.checkNames(), f.checkAddresses(i), f.readToken(), f.secureLinks(), f.apply(), f.checkStore(), f.checkPlacement())
}

// splitIndex takes the node's number from its place before the flags.
func splitIndex(args []string) (i int, flags []string, err error) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return 0, args, badUsage(`which node? use "dadbot node I" with I from 0 to 99, before the flags`)
	}
	i, err = strconv.Atoi(args[0])
	if err != nil || i < 0 || i > 99 {
		return 0, args[1:], badUsage(`node %q: use a number from 0 to 99`, args[0])
	}
	return i, args[1:], nil
}

func (f *nodeFlags) given(name string) bool { return f.set.Given(name) }

// seedList is empty where the seeds are contacts, and where a store leads to the
// members unless seeds are named all the same.
func (f *nodeFlags) seedList() []string {
	if f.seeds == "" || f.store != "" && !f.given("seeds") || f.looksUp() || f.opts.house.Cluster.RequiredContacts != 0 {
		return nil
	}
	return strings.Split(f.seeds, ",")
}

// looksUp tells whether the seeds are to be found in DNS.
func (f *nodeFlags) looksUp() bool {
	kind, _, _ := strings.Cut(f.seeds, ":")
	return kind == "dns" || kind == "srv"
}

// contacts are nil where the seeds are a list whose first one founds.
func (f *nodeFlags) contacts() (discover.Seeds, error) {
	required := f.opts.house.Cluster.RequiredContacts
	switch {
	case required == 0 && !f.looksUp():
		return nil, nil
	case required < 1 && f.store == "":
		return nil, badUsage("-seeds %s finds any number of nodes: say with -required-contacts how many found the cluster together, more than half of all", f.seeds)
	}
	contacts, err := discover.Parse(f.seeds)
	if err != nil {
		return nil, badUsage("-seeds: %w", err)
	}
	return contacts, nil
}

// apply makes the configuration of the node.
func (f *nodeFlags) apply() error {
	h := &f.opts.house
	f.opts.level = new(slog.LevelVar)
	f.opts.level.Set(f.level)
	h.Name = f.opts.name
	h.Cluster.Listen = f.listen
	h.Cluster.Seeds = f.seedList()
	var contactsErr, roleErr, styleErr, downingErr error
	h.Cluster.Contacts, contactsErr = f.contacts()
	h.Cluster.Roles, roleErr = roles(f.role)
	h.Style, styleErr = checkStyle(f.style)
	h.Cluster.Downing.Strategy, downingErr = downing(f.downing)
	return errors.Join(contactsErr, roleErr, styleErr, downingErr)
}

func roles(role string) ([]string, error) {
	switch role {
	case "":
		return []string{house.EdgeRole, house.DadRole}, nil
	case house.EdgeRole, house.DadRole:
		return []string{role}, nil
	default:
		return nil, badUsage("-role %q is unknown%s", role, settings.Suggest(role, []string{house.EdgeRole, house.DadRole}, "use edge or dad, or leave it out for both"))
	}
}

func checkStyle(style string) (dad.Style, error) {
	switch s := dad.Style(style); s {
	case dad.StateMachine, dad.PlainLoop:
		return s, nil
	default:
		return "", badUsage("-style %q is unknown%s", style, settings.Suggest(style, []string{string(dad.StateMachine), string(dad.PlainLoop)}, "use states or loop"))
	}
}

// downing is nil where the cluster's default applies.
func downing(text string) (sbr.Strategy, error) {
	if text == "" {
		return nil, nil
	}
	s, err := sbr.Parse(text)
	if err != nil {
		return nil, badUsage("-downing: %v", err)
	}
	return s, nil
}
