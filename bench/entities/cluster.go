package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard"
)

// cluster is the processes of a run: hosts, and this one, which only asks.
type cluster struct {
	node     *troupe.Node
	counters *shard.Entities[Hit]
	hosts    []*hostProcess
}

type hostProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startCluster(ctx context.Context, hosts int) (*cluster, error) {
	c := &cluster{}
	var seed []string
	for range hosts {
		h, err := startHost(ctx, seed)
		if err != nil {
			c.close()
			return nil, err
		}
		c.hosts = append(c.hosts, h)
		if seed == nil {
			seed = []string{h.out.Text()}
		}
	}
	var err error
	if c.node, c.counters, err = startNode(ctx, nil, seed...); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func startHost(ctx context.Context, seed []string) (*hostProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	h := &hostProcess{cmd: exec.CommandContext(ctx, self, append([]string{"host"}, seed...)...)}
	h.cmd.Stderr = os.Stderr
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.out = bufio.NewScanner(out)
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	if !h.out.Scan() {
		return nil, fmt.Errorf("a host has ended before it was up")
	}
	return h, nil
}

func (c *cluster) close() {
	for _, h := range c.hosts {
		_ = h.in.Close()
		_ = h.cmd.Wait()
	}
	if c.node != nil {
		c.node.Kill()
	}
}

// size is what the hosts hold together.
type size struct{ entities, bytes int }

// settled is resident after garbage was collected and returned.
func (c *cluster) settled() (size, error) { return c.query("settle") }

func (c *cluster) resident() (size, error) { return c.query("size") }

func (c *cluster) query(what string) (all size, err error) {
	for _, h := range c.hosts {
		if _, err := fmt.Fprintln(h.in, what); err != nil {
			return all, fmt.Errorf("host: %w", err)
		}
		if !h.out.Scan() {
			return all, fmt.Errorf("a host has ended")
		}
		var s size
		if _, err := fmt.Sscan(h.out.Text(), &s.entities, &s.bytes); err != nil {
			return all, fmt.Errorf("host: %w", err)
		}
		all.entities += s.entities
		all.bytes += s.bytes
	}
	return all, nil
}

func (c *cluster) entity(i int) actor.Ref[Hit] { return c.counters.Ref("e" + strconv.Itoa(i)) }

// fill starts all entities by asking each once.
func (c *cluster) fill(ctx context.Context, entities int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	const fillers = 512
	var all sync.WaitGroup
	for f := range fillers {
		all.Go(func() {
			for i := f; i < entities && ctx.Err() == nil; i += fillers {
				if _, err := actor.Ask(ctx, c.entity(i), Hit{}); err != nil {
					cancel(fmt.Errorf("start entity %d: %w", i, err))
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
