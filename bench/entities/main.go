// Entities fills a cluster with live entities and asks them at random, at a
// steady rate, from another process.
//
//	go run ./bench/entities -entities 20000000 -hosts 2 -rate 20000 -for 1m
//
// It prints bytes per entity and the latency of the asks, measured from the
// moment at which each was due: an ask that had to wait for its turn counts
// that wait too. With -plot it draws them over time.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// plan is what a run does.
type plan struct {
	entities int
	hosts    int
	rate     int
	length   time.Duration
	askers   int
	plot     string
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "host" {
		exit(host(os.Args[2:]))
	}
	var p plan
	flag.IntVar(&p.entities, "entities", 1_000_000, "live `entities`, each with a number for state")
	flag.IntVar(&p.hosts, "hosts", 2, "`processes` that host them")
	flag.IntVar(&p.rate, "rate", 20_000, "`asks` a second")
	flag.DurationVar(&p.length, "for", 30*time.Second, "how long to ask")
	flag.IntVar(&p.askers, "askers", 1024, "asks under way at most; more wait, and the wait counts")
	flag.StringVar(&p.plot, "plot", "", "draw the latency into this PNG or SVG `file`")
	flag.Parse()
	if flag.NArg() > 0 || p.entities < 1 || p.hosts < 1 || p.rate < 1 || p.askers < 1 || p.length < time.Second {
		exit(fmt.Errorf("use positive numbers, a time of at least 1s, and no further arguments"))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(run(ctx, p))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "entities:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context, p plan) error {
	c, err := startCluster(ctx, p.hosts)
	if err != nil {
		return err
	}
	defer c.close()
	empty, err := c.resident()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := c.fill(ctx, p.entities); err != nil {
		return err
	}
	fmt.Printf("%d entities started in %s\n", p.entities, time.Since(began).Round(time.Second))
	full, err := c.settled()
	if err != nil {
		return err
	}
	fmt.Printf("%d live in %d processes, %d bytes each (resident set, with a margin for garbage: %.1f GiB in all)\n",
		full.entities, p.hosts, (full.bytes-empty.bytes)/full.entities, float64(full.bytes)/(1<<30))
	if full.entities != p.entities {
		return fmt.Errorf("%d entities are live, want %d", full.entities, p.entities)
	}
	l := c.ask(ctx, p)
	after, err := c.resident()
	if err != nil {
		return err
	}
	fmt.Printf("%d asks at %d/s for %s, %d failed; %d entities live at the end\n", l.asks(), p.rate, p.length, l.failed, after.entities)
	fmt.Println(l.summary())
	if p.plot != "" {
		if err := l.draw(p.plot, p); err != nil {
			return err
		}
	}
	if l.failed > 0 || after.entities != p.entities {
		return fmt.Errorf("%d asks failed, %d of %d entities are live", l.failed, after.entities, p.entities)
	}
	return nil
}
