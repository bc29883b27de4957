// Package report turns the results of all runs into what people read: medians,
// bars that are held or missed, a table, JSON and a chart. It is pure but for
// the functions that write a file.
package report

import (
	"slices"

	"github.com/troupe-go/troupe/bench/work"
)

// Subject is the system that the others are compared with.
const Subject = "troupe"

// floors are the systems that are plain Go. All others but the subject are its
// peers, those added from outside too.
var floors = []string{"channel", "batch", "frames"}

func isPeer(system string) bool { return system != Subject && !slices.Contains(floors, system) }

// A Report is one whole measurement.
type Report struct {
	Machine Machine  `json:"machine"`
	Rounds  int      `json:"rounds"` // wished; an interrupted report has fewer runs
	Cells   []Cell   `json:"cells"`  // by work, then system, in the order in which they run
	Bars    []Result `json:"bars"`
}

// Machine is where it was measured.
type Machine struct {
	CPU        string `json:"cpu"`
	GOMAXPROCS int    `json:"gomaxprocs"` // of each process
	Go         string `json:"go"`
	Date       string `json:"date"`
}

// A Cell is what one system did in one work.
type Cell struct {
	Work   string        `json:"work"`
	System string        `json:"system"`
	Unit   work.Unit     `json:"unit"`
	Runs   []work.Result `json:"runs"`
	Error  string        `json:"error,omitempty"` // of the run that failed; there are no more behind it
}

// A Quantity is one of the numbers in a result.
type Quantity string

// The quantities.
const (
	Value  Quantity = "value"
	Allocs Quantity = "allocs"
	P50    Quantity = "p50"
	P99    Quantity = "p99"
)

func (q Quantity) of(r work.Result) (v float64, ok bool) {
	switch q {
	case Value:
		return r.Value, true
	case Allocs:
		if r.AllocsPerOp == nil {
			return 0, false
		}
		return *r.AllocsPerOp, true
	default:
		v, ok = r.Extra[string(q)]
		return v, ok
	}
}

// all gives a quantity of each run, sorted.
func (c Cell) all(q Quantity) []float64 {
	var vs []float64
	for _, r := range c.Runs {
		if v, ok := q.of(r); ok {
			vs = append(vs, v)
		}
	}
	slices.Sort(vs)
	return vs
}

// Median gives the median over the runs; ok is false if there is none, or a run
// failed.
func (c Cell) Median(q Quantity) (v float64, ok bool) {
	vs := c.all(q)
	if len(vs) == 0 || c.Error != "" {
		return 0, false
	}
	return median(vs), true
}

// median of sorted numbers.
func median(vs []float64) float64 {
	m := len(vs) / 2
	if len(vs)%2 == 1 {
		return vs[m]
	}
	return (vs[m-1] + vs[m]) / 2
}

// cell finds the cell of a work and a system.
func (r *Report) cell(workName, system string) (Cell, bool) {
	for _, c := range r.Cells {
		if c.Work == workName && c.System == system {
			return c, true
		}
	}
	return Cell{}, false
}

// Merit tells how many times as good as the subject's the value of c is: above
// 1 it is better. ok is false if either has none.
func (r *Report) Merit(c Cell) (merit float64, ok bool) {
	own, found := r.cell(c.Work, Subject)
	if !found {
		return 0, false
	}
	ours, ok1 := own.Median(Value)
	theirs, ok2 := c.Median(Value)
	if !ok1 || !ok2 {
		return 0, false
	}
	if c.Unit.Rate() {
		return theirs / ours, true
	}
	return ours / theirs, true
}

// Failed tells whether a run failed.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Error != "" })
}
