// Package driver is what all systems that are written in Go have in common: the
// command line that README.md documents, the clock, the count of allocations
// and the further processes of a work. A system adds its works:
//
//	func main() {
//		driver.Main(driver.System{Works: map[string]driver.Func{"tell-1-1": tell}})
//	}
//
// Every system is measured by the same code here.
package driver

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/troupe-go/troupe/bench/work"
)

// System is an executable that can do some of the works.
type System struct {
	Works map[string]Func
	// Peers are the other processes of works that need some, by role: the
	// function begins to serve and returns what the first process needs to know,
	// such as an address. The process lives until the first one ends.
	Peers map[string]func(args []string) (address string, err error)
}

// Func does one work once. It sets things up, calls exactly one of the Run's
// measuring methods, and checks that all that was sent has arrived. It cleans
// up nothing: the process ends behind it.
type Func func(r *Run) error

// Main runs the command line of a system and ends the process.
func Main(s System) {
	if err := s.main(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
		os.Exit(1)
	}
	os.Exit(0)
}

var errUsage = errors.New("usage: SYSTEM list | SYSTEM run WORK [-n N] [-cpuprofile FILE]")

func (s System) main(args []string, in io.Reader, out io.Writer) error {
	switch {
	case len(args) == 1 && args[0] == "list":
		return s.list(out)
	case len(args) >= 2 && args[0] == "run":
		return s.run(args[1], args[2:], out)
	case len(args) >= 2 && args[0] == "peer":
		return s.peer(args[1], args[2:], in, out)
	}
	return errUsage
}

func (s System) list(out io.Writer) error {
	for _, w := range work.All() {
		if s.Works[w.Name] != nil {
			fmt.Fprintln(out, w.Name)
		}
	}
	return nil
}

func (s System) run(name string, args []string, out io.Writer) error {
	w, err := work.Find(name)
	if err != nil {
		return err
	}
	do := s.Works[name]
	if do == nil {
		return fmt.Errorf("this system cannot do %s", name)
	}
	flags := flag.NewFlagSet("run "+name, flag.ContinueOnError)
	n := flags.Int("n", w.N, "operations")
	profile := flags.String("cpuprofile", "", "write a profile of the measured part to this `file`, of further processes to FILE.1 and so on")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return errUsage
	}
	if err := w.Check(*n); err != nil {
		return fmt.Errorf("%s: -n: %w", name, err)
	}
	r := &Run{Work: w, N: *n, profile: *profile}
	if err := do(r); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if r.result.Work == "" {
		return fmt.Errorf("%s: nothing was measured", name)
	}
	return json.NewEncoder(out).Encode(r.result)
}

// peer serves until its input ends, that is, until the first process has ended,
// however it did. On request it tells how much it has allocated.
func (s System) peer(role string, args []string, in io.Reader, out io.Writer) error {
	serve := s.Peers[role]
	if serve == nil {
		return fmt.Errorf("there is no peer %q", role)
	}
	address, err := serve(args)
	if err != nil {
		return fmt.Errorf("peer %s: %w", role, err)
	}
	fmt.Fprintln(out, address)
	var p profiler
	requests := bufio.NewScanner(in)
	for requests.Scan() {
		verb, file, _ := strings.Cut(requests.Text(), " ")
		switch verb {
		case askMallocs:
			fmt.Fprintln(out, mallocs())
		case askProfile:
			err = p.start(file)
		case askProfiled:
			err = p.stop()
		}
		if err != nil {
			return err
		}
	}
	return requests.Err()
}

// mallocs is the number of objects allocated by this process so far.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// within bounds everything that a driver waits for; the runner has its own
// limit for the whole run.
const within = 30 * time.Second
