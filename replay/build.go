package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A place is where a package is.
type place struct {
	Dir    string // of the package: tests run in it
	Module struct {
		Dir string // what tests can read
	}
}

// build builds the test binary of a package for wasip1 and makes machine code of
// it. The first time takes a minute or two, as the standard library has to be
// built; go's build cache and the user's cache folder keep it for the next.
func build(ctx context.Context, pkg string) (*program, error) {
	where, err := locate(ctx, pkg)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		return nil, fmt.Errorf("a folder for the test binary of %s: %w", pkg, err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "test.wasm")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-s -w", "-o", file, ".")
	cmd.Dir = where.Dir
	// Neither a race detector nor C is to be had there, whatever this process is built with.
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the tests of %s for wasip1: %w\n%s", pkg, err, said)
	}
	code, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the test binary of %s: has it tests? %w", pkg, err)
	}
	return load(ctx, code, where)
}

func locate(ctx context.Context, pkg string) (where place, err error) {
	var why bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "list", "-json=Dir,Module", pkg)
	cmd.Stderr = &why
	said, err := cmd.Output()
	if err != nil {
		return where, fmt.Errorf("find %s: %w\n%s", pkg, err, &why)
	}
	if err := json.Unmarshal(said, &where); err != nil {
		return where, fmt.Errorf("find %s: it has to be one package: %w", pkg, err)
	}
	if where.Module.Dir == "" {
		return where, fmt.Errorf("find %s: it is in no module", pkg)
	}
	return where, nil
}
