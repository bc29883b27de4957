// Command node is one node of a rehearsal: it hosts entities that do nothing
// but answer, asks all of them all the time, and writes down who answered and
// whom it holds for a member. It ends with 0 when it was told to leave, and
// with 1 when its part in the cluster ended otherwise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/chaos/record"
	"github.com/troupe-go/troupe/sbr"
	"github.com/troupe-go/troupe/store/sqlite"
	"github.com/troupe-go/troupe/transport"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := troupe.UntilSignal(context.Background(), log)
	err := run(ctx, os.Args[1:], log)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "node: %v\n", err)
		os.Exit(1)
	}
}

// options is the command line.
type options struct {
	number, minMembers         int
	noCrashDetection           bool
	record, store, secretFile  string
	listen, seeds, downing     string
	heartbeat, pause           time.Duration
	stableAfter, downUnstable  time.Duration
	gossip, leader, reap, join time.Duration
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("node", flag.ContinueOnError)
	f.IntVar(&o.number, "number", 0, "this node's number in the record")
	f.StringVar(&o.record, "record", "", "`file` to write events to")
	f.StringVar(&o.store, "store", "", "`file` of an SQLite store; none without")
	f.StringVar(&o.secretFile, "secret-file", "", "`file` with the secret of the links; without, they are plain")
	f.StringVar(&o.listen, "listen", "", "`address` of the links")
	f.StringVar(&o.seeds, "seeds", "", "`addresses`, separated by commas")
	f.StringVar(&o.downing, "downing", "keep-majority", "strategy, as sbr.Parse reads it")
	f.IntVar(&o.minMembers, "min-members", 1, "how many must have joined before the first come up")
	f.BoolVar(&o.noCrashDetection, "no-crash-detection", false, "wait for silence instead")
	f.DurationVar(&o.heartbeat, "heartbeat", 0, "0 for the default, as all times")
	f.DurationVar(&o.pause, "acceptable-pause", 0, "")
	f.DurationVar(&o.stableAfter, "stable-after", 0, "")
	f.DurationVar(&o.downUnstable, "down-all-when-unstable", 0, "")
	f.DurationVar(&o.gossip, "gossip", 0, "")
	f.DurationVar(&o.leader, "leader-actions", 0, "")
	f.DurationVar(&o.reap, "reaper", 0, "")
	f.DurationVar(&o.join, "join-retry", 0, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	return o, nil
}

// config is the node's, but for its store.
func (o options) config(log *slog.Logger) (c troupe.Config, err error) {
	c = troupe.Config{Name: "chaos", Listen: o.listen, Seeds: strings.Split(o.seeds, ","), Insecure: o.secretFile == "", Log: log}
	if o.secretFile != "" {
		if c.Secret, err = transport.ReadSecret(o.secretFile); err != nil {
			return c, err
		}
	}
	if c.Downing.Strategy, err = sbr.Parse(o.downing); err != nil {
		return c, err
	}
	c.MinMembers, c.NoCrashDetection = o.minMembers, o.noCrashDetection
	c.Downing.StableAfter, c.Downing.DownAllWhenUnstable = o.stableAfter, o.downUnstable
	c.Times = troupe.Times{
		Heartbeat: o.heartbeat, AcceptablePause: o.pause,
		Gossip: o.gossip, LeaderActions: o.leader, Reaper: o.reap, JoinRetry: o.join,
	}
	return c, nil
}

// run runs the node until ctx ends it or its part in the cluster is over.
func run(ctx context.Context, args []string, log *slog.Logger) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	w, err := record.Create(o.record, o.number)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	c, err := o.config(log)
	if err != nil {
		return err
	}
	if o.store != "" {
		s, err := sqlite.Open(ctx, sqlite.Config{Path: o.store})
		if err != nil {
			return err
		}
		defer s.Close()
		c.Store = s
	}
	n, err := troupe.Start(ctx, c)
	if err != nil {
		return err
	}
	defer n.Kill() // in vain when it has ended
	observe(n, w)
	probes, err := startProbes(n, w)
	if err != nil {
		return err
	}
	defer probes.stop()
	select {
	case <-ctx.Done():
		return n.Leave(context.Background())
	case <-n.Done():
		err := n.Err()
		w.Write(record.Event{Kind: record.Ended, Text: fmt.Sprint(err)})
		return err
	}
}

// observe writes down what the node hears of the membership, until it ends.
func observe(n *troupe.Node, w *record.Writer) {
	n.Subscribe(func(v *troupe.View) {
		e := record.Event{Kind: record.Viewed}
		for _, m := range v.Members {
			switch m.Status {
			case troupe.Up:
				e.Up = append(e.Up, m.Address.String())
			case troupe.Down:
				e.Down = append(e.Down, m.Address.String())
			default: // comes or goes
			}
		}
		for _, id := range v.Unreachable {
			e.Absent = append(e.Absent, id.Address.String())
		}
		w.Write(e)
	})
	n.Events(func(e troupe.Event) {
		if e, ok := e.(troupe.Downing); ok {
			w.Write(record.Event{Kind: record.Resolved, Text: e.News.String()})
		}
	})
}
