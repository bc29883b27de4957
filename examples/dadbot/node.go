package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/examples/dadbot/audit"
	"github.com/troupe-go/troupe/examples/dadbot/house"
	"github.com/troupe-go/troupe/examples/dadbot/page"
	"github.com/troupe-go/troupe/manage"
	"github.com/troupe-go/troupe/transport"
)

// startWithin bounds the opening of a node: its store and its ports, not joining.
const startWithin = 10 * time.Second

// runNode runs a node until ctx ends, and then leaves the cluster gracefully:
// nil. It is an error when the node ended otherwise. What was opened is closed
// in any case.
func runNode(ctx context.Context, o nodeOptions, log *slog.Logger) (err error) {
	log = log.With("name", o.name)
	o.house.Cluster.Log = log
	o.house.Record = audit.Nothing
	if o.audit != "" {
		f, err := audit.Open(o.audit, log)
		if err != nil {
			return err
		}
		defer f.Close()
		o.house.Record = f.Record
	}
	opening, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	closeStore, err := o.openStore(opening)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	var servers servers
	defer func() { err = errors.Join(err, servers.close()) }()
	chats, err := servers.listen("-http", o.http)
	if err != nil {
		return err
	}
	management, err := servers.listen("-manage", o.manage)
	if err != nil {
		return err
	}
	h, err := house.Open(opening, o.house)
	if err != nil {
		return openError(o.house.Cluster.Listen, err)
	}
	ops, err := manage.Handler(h.Node, manage.Options{Token: o.token, Level: o.level})
	if err != nil {
		return errors.Join(err, h.Leave())
	}
	edge := h.Edge()
	mux := http.NewServeMux()
	page.Routes(mux)
	servers.serve(chats, edge.Handler(mux), log)
	servers.serve(management, ops, log)
	log.Info("serving", "page", "http://"+chats.Addr().String()+"/", "manage", "http://"+management.Addr().String()+"/cluster/members")
	select {
	case <-ctx.Done():
		edge.Close()
		return h.Leave()
	case <-h.Done():
		if err := h.Err(); err != nil {
			return fmt.Errorf("%s has ended: %w", o.name, err)
		}
		log.Info("the cluster made this node leave")
		return nil
	}
}

// servers are the HTTP servers of one process.
type servers struct {
	listeners []net.Listener
	running   []*http.Server
	serving   sync.WaitGroup
}

// listen binds the address that a flag gave.
func (s *servers) listen(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, bindError(flag, address, err)
	}
	s.listeners = append(s.listeners, l)
	return l, nil
}

// openError blames -listen for what is wrong with the address, and for nothing else.
func openError(listen string, err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "listen" || errors.Is(err, transport.ErrInsecure) {
		return bindError("-listen", listen, err)
	}
	return err
}

// bindError words why the address that a flag gave could not be bound, without
// what package net and package transport say of the address once more.
func bindError(flag, address string, err error) error {
	if errors.Is(err, transport.ErrInsecure) {
		return badUsage("%s %s is reached from beyond this machine, and links have no encryption: use -secret-file or -tls-cert, or allow that with -insecure", flag, address)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		err = call.Err
	}
	hint := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = ": another node may be running; stop it, or use another port"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = ": use an address of this machine"
	}
	return fmt.Errorf("%s %s: %w%s", flag, address, err, hint)
}

// The time-outs of servers: requests are small, and a Dad answers within
// chat.AskWithin. Once a node has left, every answer is a quick refusal.
const (
	readWithin  = 10 * time.Second
	writeWithin = 20 * time.Second
	idleFor     = time.Minute
	closeWithin = time.Second
	maxHeader   = 16 << 10 // bytes
)

// serve serves until close; an error is logged, since the node can go on.
func (s *servers) serve(l net.Listener, h http.Handler, log *slog.Logger) {
	srv := &http.Server{
		Handler: h, ReadTimeout: readWithin, WriteTimeout: writeWithin, IdleTimeout: idleFor,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	s.running = append(s.running, srv)
	s.serving.Go(func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("serving ended", "address", l.Addr(), "error", err)
		}
	})
}

// close finishes the requests in hand, or cuts them when they take too long,
// and closes all listeners.
func (s *servers) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	var problems []error
	for _, srv := range s.running {
		if srv.Shutdown(ctx) != nil { // a client holds a connection on which it asks nothing
			problems = append(problems, srv.Close())
		}
	}
	for _, l := range s.listeners {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			problems = append(problems, err)
		}
	}
	s.serving.Wait()
	return errors.Join(problems...)
}
