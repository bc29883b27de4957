// Package runner builds the systems and runs their works, each run in a process
// of its own, by the command line that README.md documents.
package runner

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/troupe-go/troupe/bench/work"
)

// System is an executable that can do some works.
type System struct {
	Name  string
	path  string
	works map[string]bool
}

// Can tells whether the system does a work.
func (s System) Can(w work.Work) bool { return s.works[w.Name] }

const (
	drivers = "github.com/troupe-go/troupe/bench/systems/"
	listAll = "list"
)

// builtin are the systems of this module, in the order in which they run.
var builtin = []string{"troupe", "channel", "batch", "frames", "protoactor"}

// Build builds the systems of this module into dir.
func Build(ctx context.Context, dir string) ([]System, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), drivers+"...")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the systems: %w\n%s", err, out)
	}
	var systems []System
	for _, name := range builtin {
		s, err := Open(ctx, filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		systems = append(systems, s)
	}
	return systems, nil
}

// Extra gives the systems in a folder: all executables in it.
func Extra(ctx context.Context, dir string) ([]System, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("systems from outside: %w", err)
	}
	var systems []System
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		info, err := os.Stat(path) // through links
		if err != nil {
			return nil, fmt.Errorf("systems from outside: %w", err)
		}
		if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
			continue
		}
		s, err := Open(ctx, path)
		if err != nil {
			return nil, err
		}
		systems = append(systems, s)
	}
	return systems, nil
}

// Open asks an executable what it can do. Works that this version does not know
// are passed over.
func Open(ctx context.Context, path string) (System, error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	s := System{Name: strings.TrimSuffix(filepath.Base(path), ".exe"), path: path, works: map[string]bool{}}
	out, err := exec.CommandContext(ctx, path, listAll).Output()
	if err != nil {
		return System{}, fmt.Errorf("%s %s: %w", path, listAll, err)
	}
	for _, name := range strings.Fields(string(out)) {
		s.works[name] = true
	}
	return s, nil
}
