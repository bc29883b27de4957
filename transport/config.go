package transport

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// Bounds of the settings.
const (
	maxCluster   = 255     // bytes of a cluster's name
	minFrame     = 1 << 16 // the least MaxFrame: what shares a segment fits every peer
	maxFrame     = 1 << 30 // the greatest MaxFrame
	maxLanes     = 64      // ordinary lanes
	segmentBytes = minFrame
)

// Config is what an endpoint needs to know. The zero value of a field means the
// default beside it.
type Config struct {
	Cluster   string         // name of the cluster; links to another one are refused. Required
	Listen    member.Address // where to bind; 127.0.0.1 and a free port
	Advertise member.Address // what peers dial; the bound address
	UID       int64          // this incarnation; drawn at random

	MaxFrame int // greatest payload in bytes, sent or accepted; 16 MiB
	Lanes    int // ordinary lanes to each peer; 4
	Queue    int // bytes that may wait in one lane to one peer, and as many behind large frames; 32 MiB

	// How links are secured; plain links are for the loopback interface.
	TLS      *TLS   // by certificates; none
	Secret   Secret // by a secret that all nodes share, which gives encryption too; none
	Insecure bool   // not at all: allow plain links beyond the loopback interface

	DialTimeout      time.Duration // to reach a peer's address; 2 s
	HandshakeTimeout time.Duration // from connected to accepted, on both sides; 3 s
	WriteTimeout     time.Duration // without progress in writing, or without an answer to a goodbye; 10 s
	MinBackoff       time.Duration // pause after the first failed attempt, doubled after each; 50 ms
	MaxBackoff       time.Duration // greatest pause; 2 s
	GiveUp           time.Duration // how long frames wait for a link; 10 s
	IdleTimeout      time.Duration // without anything to send, until a link is forgotten that is down or was made by SendAddress; 1 min

	Poison bool         // for tests: overwrite each payload after Receive
	Log    *slog.Logger // discards
}

// withDefaults gives the configuration in force.
func (c Config) withDefaults() Config {
	c.Listen.Host = cmp.Or(c.Listen.Host, "127.0.0.1")
	c.MaxFrame = cmp.Or(c.MaxFrame, 16<<20)
	c.Lanes = cmp.Or(c.Lanes, 4)
	c.Queue = cmp.Or(c.Queue, 32<<20)
	c.DialTimeout = cmp.Or(c.DialTimeout, 2*time.Second)
	c.HandshakeTimeout = cmp.Or(c.HandshakeTimeout, 3*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 10*time.Second)
	c.MinBackoff = cmp.Or(c.MinBackoff, 50*time.Millisecond)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, 2*time.Second)
	c.GiveUp = cmp.Or(c.GiveUp, 10*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, time.Minute)
	if c.TLS != nil {
		t := *c.TLS // the caller's copy stays as it is
		t.Every = cmp.Or(t.Every, 10*time.Second)
		c.TLS = &t
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	for c.UID == 0 {
		c.UID = int64(rand.Uint64())
	}
	return c
}

// validate reports every bad setting of a configuration with defaults.
func (c *Config) validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf("transport: "+format, args...))
		}
	}
	bad(c.Cluster == "" || len(c.Cluster) > maxCluster, "Config.Cluster %q: want 1 to %d bytes", c.Cluster, maxCluster)
	bad(c.MaxFrame < minFrame || c.MaxFrame > maxFrame, "Config.MaxFrame %d: want %d to %d bytes", c.MaxFrame, minFrame, maxFrame)
	bad(c.Lanes < 1 || c.Lanes > maxLanes, "Config.Lanes %d: want 1 to %d", c.Lanes, maxLanes)
	bad(c.Queue < c.MaxFrame+lengthBytes, "Config.Queue %d: want at least Config.MaxFrame and %d bytes, %d", c.Queue, lengthBytes, c.MaxFrame+lengthBytes)
	bad(c.MinBackoff > c.MaxBackoff, "Config.MinBackoff %v is greater than MaxBackoff %v", c.MinBackoff, c.MaxBackoff)
	if c.Secret != "" {
		problem := c.Secret.problem()
		bad(problem != "", "Config.Secret has %s", problem)
	}
	bad(c.Insecure && c.secured(), "Config.Insecure allows plain links, which Config.TLS or Config.Secret rules out: set one or the other")
	bad(c.TLS != nil && c.TLS.Every < 0, "Config.TLS.Every is negative")
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"DialTimeout", c.DialTimeout},
		{"HandshakeTimeout", c.HandshakeTimeout},
		{"WriteTimeout", c.WriteTimeout},
		{"MinBackoff", c.MinBackoff},
		{"MaxBackoff", c.MaxBackoff},
		{"GiveUp", c.GiveUp},
		{"IdleTimeout", c.IdleTimeout},
	} {
		bad(d.d < 0, "Config.%s %v is negative", d.name, d.d)
	}
	errs = append(errs, normalise("Listen", &c.Listen))
	if !c.Advertise.IsZero() {
		errs = append(errs, normalise("Advertise", &c.Advertise))
	}
	return errors.Join(errs...)
}

// secured tells whether links are encrypted and authenticated.
func (c *Config) secured() bool { return c.TLS != nil || c.Secret != "" }

// normalise brings an address that was not parsed into its one spelling.
func normalise(setting string, a *member.Address) error {
	n, err := member.ParseAddress(a.String())
	if err != nil {
		return fmt.Errorf("transport: Config.%s: %w", setting, err)
	}
	*a = n
	return nil
}

// advertised is what peers dial, given what was bound.
func (c *Config) advertised(bound member.Address) (member.Address, error) {
	a := c.Advertise
	if a.Host == "" {
		a.Host = bound.Host
	}
	if a.Port == 0 {
		a.Port = bound.Port
	}
	if unspecified(a.Host) {
		return a, fmt.Errorf("transport: nobody can dial %v: set Config.Advertise to the address that peers should use", a)
	}
	return a, nil
}
