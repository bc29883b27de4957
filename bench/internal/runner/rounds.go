package runner

import (
	"context"
	"slices"

	"github.com/troupe-go/troupe/bench/internal/report"
	"github.com/troupe-go/troupe/bench/work"
)

// Plan is what is to be measured.
type Plan struct {
	Systems []System
	Works   []work.Work
	Rounds  int
	Limits  Limits
	// Progress is called after each run.
	Progress func(round int, c report.Cell)
}

// Measure runs every work on every system, interleaved: in each round, for each
// work, one system after the other, so that what slows the machine for a while
// slows all alike. A system that fails a work is not given it again. When ctx
// ends, what was measured so far is returned with its error.
func (p Plan) Measure(ctx context.Context) ([]report.Cell, error) {
	var cells []report.Cell
	for _, w := range p.Works {
		for _, s := range p.Systems {
			if s.Can(w) {
				cells = append(cells, report.Cell{Work: w.Name, System: s.Name, Unit: w.Unit})
			}
		}
	}
	for round := range p.Rounds {
		for i := range cells {
			c := &cells[i]
			if c.Error != "" {
				continue
			}
			if err := p.run(ctx, c); err != nil {
				return cells, err
			}
			p.Progress(round, *c)
		}
	}
	return cells, nil
}

// run adds a run to a cell. The error is that of ctx.
func (p Plan) run(ctx context.Context, c *report.Cell) error {
	w := p.Works[slices.IndexFunc(p.Works, func(w work.Work) bool { return w.Name == c.Work })]
	s := p.Systems[slices.IndexFunc(p.Systems, func(s System) bool { return s.Name == c.System })]
	r, err := s.Run(ctx, w, 0, p.Limits)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		c.Error = err.Error()
	default:
		c.Runs = append(c.Runs, r)
	}
	return nil
}
