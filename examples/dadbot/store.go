package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"strings"

	"github.com/troupe-go/troupe/examples/dadbot/settings"
	"github.com/troupe-go/troupe/sbr"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/store/postgres"
	"github.com/troupe-go/troupe/store/sqlite"
)

// A database is one that -store names. It is opened when the node starts.
type database func(ctx context.Context) (store.Store, error)

// storeFlag declares the database that all nodes share.
func (f *nodeFlags) storeFlag(s *flag.FlagSet) {
	s.StringVar(&f.store, "store", "", "`database` that all nodes share, which then need no -seeds: sqlite:FILE on one machine, or postgres://USER@HOST/DATABASE; others on this machine may see a password in it: prefer the variable PGPASSWORD")
	f.set.Hide("store", withoutPassword)
}

// withoutPassword is a database as it may be printed.
func withoutPassword(text string) string {
	if strings.HasPrefix(text, "sqlite:") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	u.RawQuery = "" // it may hold a password too
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	return u.String()
}

// checkStore reads the flag, and checks the others that say how a cluster is
// founded, and kept one, against it.
func (f *nodeFlags) checkStore() (err error) {
	c := f.opts.house.Cluster
	_, lease := c.Downing.Strategy.(sbr.LeaseMajority)
	switch {
	case f.store == "" && lease:
		return badUsage("-downing %s needs a database that all nodes share: name it with -store", f.downing)
	case f.store == "":
		return nil
	case c.RequiredContacts != 0:
		return badUsage("-required-contacts is %d, and the -store decides who founds the cluster: leave it out", c.RequiredContacts)
	}
	f.opts.store, err = parseStore(f.store)
	return err
}

// parseStore reads a database as -store names it. What it says of a wrong one
// shows no password.
func parseStore(text string) (database, error) {
	const use = "use sqlite:FILE or postgres://USER@HOST/DATABASE"
	kind, rest, named := strings.Cut(text, ":")
	switch {
	case !named:
		return nil, badUsage("-store: %.40q names no database: %s", text, use)
	case kind == "sqlite" && (rest == "" || strings.HasPrefix(rest, "//")):
		return nil, badUsage("-store: write the file as it is, such as sqlite:dadbot.db or sqlite:/var/lib/dadbot.db")
	case kind == "sqlite":
		return func(ctx context.Context) (store.Store, error) {
			return sqlite.Open(ctx, sqlite.Config{Path: rest})
		}, nil
	case (kind == "postgres" || kind == "postgresql") && strings.HasPrefix(rest, "//"):
		return func(ctx context.Context) (store.Store, error) {
			return postgres.Open(ctx, postgres.Config{URL: text})
		}, nil
	case kind == "postgres" || kind == "postgresql":
		return nil, badUsage("-store: write // behind %s:, as in postgres://USER@HOST/DATABASE", kind)
	default:
		return nil, badUsage("-store: %.40q is unknown%s", kind, settings.Suggest(kind, []string{"sqlite", "postgres"}, use))
	}
}

// openStore opens what -store names; without one there is nothing, and nothing
// to close.
func (o *nodeOptions) openStore(ctx context.Context) (closeStore func() error, err error) {
	if o.store == nil {
		return func() error { return nil }, nil
	}
	s, err := o.store(ctx)
	switch {
	case errors.Is(err, store.ErrBadArgument):
		return nil, badUsage("-store: %w", err)
	case err != nil:
		return nil, fmt.Errorf("-store: %w", err)
	}
	o.house.Cluster.Store = s
	return s.Close, nil
}
