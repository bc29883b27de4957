package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

// errFailed is what tests that fail end with; all has been said by then.
var errFailed = errors.New("a test failed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := replay(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "replay:", err)
		stop()
		os.Exit(1)
	}
}

// An order is what the command line asks for.
type order struct {
	seed   uint64        // the first
	seeds  uint64        // how many, one after the other
	within time.Duration // for each of them
	pkg    string
	args   []string // for the test binary
}

func parse(args []string) (order, error) {
	var o order
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.Uint64Var(&o.seed, "seed", 1, "the first `seed`")
	flags.Uint64Var(&o.seeds, "seeds", 1, "how many seeds to run, from the first on")
	flags.DurationVar(&o.within, "within", 10*time.Minute, "how long each may take")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "replay [flags] package [flags of the test binary]")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return o, errors.New("the package whose tests to run is missing")
	}
	o.pkg, o.args = flags.Arg(0), flags.Args()[1:]
	return o, nil
}

// again is the command that runs one seed again.
func (o order) again(seed uint64) string {
	return fmt.Sprintf("go run ./replay -seed %d %s %s", seed, o.pkg, strings.Join(o.args, " "))
}

// replay does what the command line says. One seed tells all that its tests say;
// several tell a line each, and all of the one that fails, which is the last.
func replay(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	p, err := build(ctx, o.pkg)
	if err != nil {
		return err
	}
	defer p.close(context.WithoutCancel(ctx))
	for seed := o.seed; seed-o.seed < o.seeds; seed++ {
		var said bytes.Buffer
		began := time.Now()
		r, err := p.run(ctx, run{seed: seed, args: o.args, within: o.within, out: &said})
		if err != nil {
			_, _ = said.WriteTo(out)
			return fmt.Errorf("seed %d of %s: %w", seed, o.pkg, err)
		}
		if o.seeds == 1 || r.code != 0 {
			_, _ = said.WriteTo(out)
		}
		fmt.Fprintf(out, "seed %d: exit %d, trace %s, in %v\n", seed, r.code, r.trace, time.Since(began).Round(time.Millisecond))
		if r.code != 0 {
			fmt.Fprintln(out, "again:", o.again(seed))
			return errFailed
		}
	}
	return nil
}
