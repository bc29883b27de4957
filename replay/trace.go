package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// A trace is a digest of all that a run asks of its host, in order: which call, and
// each argument as it is. Arguments are addresses for the most part, of buffers and
// of the stacks of goroutines, and the scheduler reads the clock whenever it looks for
// somebody to run: a run in which goroutines took other turns, or one
// allocated more, is another trace, whether or not its tests say so. What tests
// say is in it, too.
type trace struct {
	sum hash.Hash
	out io.Writer
}

func newTrace(out io.Writer) *trace { return &trace{sum: sha256.New(), out: out} }

// Write passes on what tests say.
func (t *trace) Write(text []byte) (int, error) {
	t.sum.Write(text)
	return t.out.Write(text)
}

// called adds a call.
func (t *trace) called(def api.FunctionDefinition, args []uint64) {
	t.sum.Write([]byte(def.Name()))
	for i, kind := range def.ParamTypes() {
		arg := args[i]
		if kind == api.ValueTypeI32 {
			arg = uint64(uint32(arg)) // above may be anything
		}
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], arg)
		t.sum.Write(b[:])
	}
}

// String is the digest up to now, half of it: enough to compare by eye.
func (t *trace) String() string { return hex.EncodeToString(t.sum.Sum(nil)[:16]) }

// traceKey finds the trace of a run in its context.
type traceKey struct{}

func (t *trace) in(ctx context.Context) context.Context { return context.WithValue(ctx, traceKey{}, t) }

// withTraces makes the host functions that are made with the context add to the
// trace of the run that calls, and end a run whose time is over.
func withTraces(ctx context.Context) context.Context {
	return experimental.WithFunctionListenerFactory(ctx, experimental.FunctionListenerFactoryFunc(
		func(api.FunctionDefinition) experimental.FunctionListener {
			return experimental.FunctionListenerFunc(hear)
		}))
}

func hear(ctx context.Context, _ api.Module, def api.FunctionDefinition, args []uint64, _ experimental.StackIterator) {
	t, ok := ctx.Value(traceKey{}).(*trace)
	if !ok {
		return
	}
	if ctx.Err() != nil {
		panic(context.Cause(ctx)) // it comes out of the run as its error
	}
	t.called(def, args)
}
