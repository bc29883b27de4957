package report

import (
	"fmt"
	"image/color"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/troupe-go/troupe/bench/work"
)

// WriteChart draws how good each system is in each work, beside the subject, as
// base.svg and base.png. A work is a line, a system a mark on it: right of 1 it
// is better than the subject.
func (r *Report) WriteChart(base string) error {
	p, works, err := r.chart()
	if err != nil {
		return err
	}
	height := vg.Length(works)*0.8*vg.Centimeter + 4*vg.Centimeter
	for _, ext := range []string{".svg", ".png"} {
		if err := p.Save(20*vg.Centimeter, height, base+ext); err != nil {
			return fmt.Errorf("draw %s: %w", filepath.Base(base)+ext, err)
		}
	}
	return nil
}

// chart gives the plot and the number of works in it.
func (r *Report) chart() (*plot.Plot, int, error) {
	p := plot.New()
	p.Title.Text = "How many times as good as Troupe"
	p.X.Label.Text = "better than Troupe to the right of 1 (logarithmic)"
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = plot.ConstantTicks(meritTicks)
	p.X.Min, p.X.Max = 0.02, 10
	p.Legend.Top = true
	p.Add(plotter.NewGrid())

	works := r.works()
	bySystem := r.points(works)
	for i, s := range r.systems() {
		if len(bySystem[s]) == 0 {
			continue
		}
		marks, err := plotter.NewScatter(bySystem[s])
		if err != nil {
			return nil, 0, fmt.Errorf("draw %s: %w", s, err)
		}
		marks.GlyphStyle = draw.GlyphStyle{Color: plotutil.Color(i), Shape: plotutil.Shape(i), Radius: vg.Points(4)}
		if s == Subject {
			marks.GlyphStyle = draw.GlyphStyle{Color: color.Black, Shape: draw.CircleGlyph{}, Radius: vg.Points(3)}
		}
		p.Add(marks)
		p.Legend.Add(s, marks)
		for _, at := range bySystem[s] {
			p.X.Min, p.X.Max = min(p.X.Min, at.X/2), max(p.X.Max, at.X*2)
		}
	}
	p.NominalY(works...)
	return p, len(works), nil
}

// works in the report, the first last, because a chart counts from below.
func (r *Report) works() []string {
	var names []string
	for _, w := range work.All() {
		if slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Work == w.Name }) {
			names = append(names, w.Name)
		}
	}
	slices.Reverse(names)
	return names
}

// systems in the report, in the order of the table.
func (r *Report) systems() []string {
	var names []string
	for _, c := range r.Cells {
		if !slices.Contains(names, c.System) {
			names = append(names, c.System)
		}
	}
	return names
}

// points are the marks of each system.
func (r *Report) points(works []string) map[string]plotter.XYs {
	points := map[string]plotter.XYs{}
	for _, c := range r.Cells {
		if m, ok := r.Merit(c); ok {
			at := plotter.XY{X: m, Y: float64(slices.Index(works, c.Work))}
			points[c.System] = append(points[c.System], at)
		}
	}
	return points
}

var meritTicks = []plot.Tick{
	{Value: 0.01, Label: "1/100"},
	{Value: 0.02, Label: "1/50"},
	{Value: 0.05, Label: "1/20"},
	{Value: 0.1, Label: "1/10"},
	{Value: 0.2, Label: "1/5"},
	{Value: 0.5, Label: "1/2"},
	{Value: 1, Label: "1"},
	{Value: 2, Label: "2"},
	{Value: 5, Label: "5"},
	{Value: 10, Label: "10"},
	{Value: 20, Label: "20"},
	{Value: 50, Label: "50"},
	{Value: 100, Label: "100"},
}
