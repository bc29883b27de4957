package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/troupe-go/troupe/examples/dadbot/settings"
)

// A usageError is a command that cannot be run, and what to write instead.
type usageError struct{ error }

func badUsage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// load reads settings. A request for help prints it and is [flag.ErrHelp].
func load(set *settings.Set, args []string, usage string, help io.Writer) (rest []string, warnings []error, err error) {
	rest, warnings, err = set.Load(args, os.Environ())
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(help, usage)
		set.PrintHelp(help)
		return nil, nil, err
	case err != nil:
		return nil, nil, usageError{err}
	default:
		return rest, warnings, nil
	}
}

// helpFlag lets people ask with a word: "help" is the flag -help.
func helpFlag(args []string) []string {
	if len(args) > 0 && args[0] == "help" {
		return append(slices.Clone(args[1:]), "-help")
	}
	return args
}

func asksForHelp(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return slices.Contains([]string{"-h", "-help", "--help"}, a) })
}
