package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// A program is a test binary that is ready to run. Runs may go on side by side.
type program struct {
	runtime wazero.Runtime
	code    wazero.CompiledModule
	where   place
}

// load makes machine code of a test binary.
func load(ctx context.Context, code []byte, where place) (*program, error) {
	keep, err := cache()
	if err != nil {
		return nil, err
	}
	cfg := wazero.NewRuntimeConfigCompiler().WithCompilationCache(keep)
	p := &program{runtime: wazero.NewRuntimeWithConfig(ctx, cfg), where: where}
	if _, err = wasi_snapshot_preview1.Instantiate(withTraces(ctx), p.runtime); err == nil {
		workers := experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
		p.code, err = p.runtime.CompileModule(workers, code)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("compile the tests in %s: %w", where.Dir, err), p.runtime.Close(ctx))
	}
	return p, nil
}

// cache keeps machine code from one process to the next.
func cache() (wazero.CompilationCache, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return wazero.NewCompilationCache(), nil // nowhere to keep it: it is compiled anew each time
	}
	dir := filepath.Join(base, "troupe-replay")
	prune(dir, kept-1) // and the one to come
	keep, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, fmt.Errorf("keep machine code in %s: %w", dir, err)
	}
	return keep, nil
}

func (p *program) close(ctx context.Context) { _ = p.runtime.Close(ctx) }

// A run is one execution of a program. All of it but within and out decides how
// it goes.
type run struct {
	seed   uint64
	args   []string
	within time.Duration
	out    io.Writer // what it says, standard error too
}

// A result is how a run went.
type result struct {
	code  uint32 // 0 if all tests passed
	trace string // the same if and only if all of it was the same; see [trace]
}

// run runs the program to its end. An error is that it could not, or not in time.
func (p *program) run(ctx context.Context, r run) (result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.within, fmt.Errorf("not over within %v; more with -within", r.within))
	defer cancel()
	tmp, err := os.MkdirTemp("", "replay")
	if err != nil {
		return result{}, fmt.Errorf("a folder for what tests write: %w", err)
	}
	defer os.RemoveAll(tmp)
	t := newTrace(r.out)
	mod, err := p.runtime.InstantiateModule(t.in(ctx), p.code, p.config(r, t, tmp))
	if mod != nil {
		defer mod.Close(ctx)
	}
	if why := context.Cause(ctx); why != nil {
		return result{}, why
	}
	var code uint32
	if exit, ok := errors.AsType[*sys.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		return result{}, err
	}
	return result{code: code, trace: t.String()}, nil
}

// config is the world of a run: nothing of it is the host's but the files of the
// package's module, which it can only read.
func (p *program) config(r run, t *trace, tmp string) wazero.ModuleConfig {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], r.seed)
	// The clock is far too fast for a limit on time.
	args := append([]string{"test", "-test.timeout=0"}, r.args...)
	return wazero.NewModuleConfig().WithName("").WithArgs(args...).
		WithStdout(t).WithStderr(t).WithRandSource(rand.NewChaCha8(seed)).
		WithEnv("PWD", p.where.Dir).WithEnv("TMPDIR", "/tmp").
		WithFSConfig(wazero.NewFSConfig().
			WithDirMount(tmp, "/tmp").
			WithReadOnlyDirMount(p.where.Module.Dir, p.where.Module.Dir))
}
