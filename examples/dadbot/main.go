// Command dadbot is the example that tells it all: every chat of a cluster has
// its own Dad, who waits for silence, thinks, and makes one joke about all that
// was said. See package dad for him.
//
//	dadbot           plays a scripted run: three nodes in one process
//	dadbot node I    runs one real node, named node-I
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/examples/dadbot/play"
)

func main() {
	ctx, stop := troupe.UntilSignal(context.Background(), newLog(os.Stderr, slog.LevelInfo))
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// The exit codes; a second signal gives troupe.ExitForced.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// run is the command: ctx ends it gracefully.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, new(usageError)):
		fmt.Fprintf(stderr, "dadbot: %v\n", err)
		return exitUsage
	default:
		fmt.Fprintf(stderr, "dadbot: %v\n", err)
		return exitFailure
	}
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	args = helpFlag(args)
	if len(args) > 0 && args[0] == "node" {
		opts, err := parseNode(args[1:], stdout)
		if err != nil {
			return err
		}
		log := newLog(stderr, opts.level)
		for _, w := range opts.warnings {
			log.Warn("a setting is ignored", "problem", w)
		}
		if opts.settings.PrintWanted() {
			return opts.settings.Print(stdout)
		}
		return opts.settings.Mention(runNode(ctx, opts, log))
	}
	style, err := parsePlay(args, stdout)
	if err != nil {
		return err
	}
	return play.Run(ctx, play.NewPaper(stdout, isTerminal(stdout)), style)
}
