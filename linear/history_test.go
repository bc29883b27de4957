package linear

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/troupe-go/troupe/actor"
)

// A history is what was asked of all registers, and answered. Its clock only says
// what came before what: in virtual time too much happens at one moment.
type history struct {
	now atomic.Int64

	mu      sync.Mutex
	ops     []porcupine.Operation
	open    int // without an answer: perhaps done, perhaps to be done later
	refused int // certainly not done
}

// asked is the input of an operation.
type asked struct {
	register int
	step     step
}

// unanswered is the output of an operation whose answer nobody knows.
const unanswered = math.MinInt

// ask makes a step and writes it down. It tells whether its outcome is known.
func (h *history) ask(register int, s step, do func() (int, error)) (known bool) {
	o := porcupine.Operation{ClientId: s.Client, Input: asked{register, s}, Call: h.now.Add(1)}
	answer, err := do()
	o.Return, o.Output = h.now.Add(1), answer
	h.mu.Lock()
	defer h.mu.Unlock()
	var failed *actor.AskError
	switch {
	case err == nil:
	case errors.As(err, &failed) && failed.SafeToRetry():
		h.refused++
		return true
	default:
		o.Return, o.Output = math.MaxInt64, unanswered
		h.open++
	}
	h.ops = append(h.ops, o)
	return err == nil
}

// check has all of it checked, one register by itself.
func (h *history) check() (porcupine.CheckResult, porcupine.LinearizationInfo) {
	return porcupine.CheckOperationsVerbose(model, h.ops, 30*time.Second)
}

// model is one register.
var model = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		by := map[int][]porcupine.Operation{}
		for _, o := range all {
			register := o.Input.(asked).register
			by[register] = append(by[register], o)
		}
		var parts [][]porcupine.Operation
		for _, part := range by {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		next, answer := input.(asked).step.on(state.(int))
		return output == unanswered || output == answer, next
	},
	DescribeOperation: func(input, output any) string {
		in := input.(asked)
		if output == unanswered {
			return fmt.Sprintf("#%d %v", in.register, in.step)
		}
		return fmt.Sprintf("#%d %v = %d", in.register, in.step, output)
	},
}
