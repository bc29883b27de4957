package report

import (
	"fmt"

	"github.com/troupe-go/troupe/bench/work"
)

// The columns of the two tables, and those that are numbers.
var (
	header    = []string{"work", "system", "median", "min", "max", "unit", "allocs/op", "p50", "p99", "vs troupe"}
	barHeader = []string{"work", "of", "demand", "troupe", "other", "ratio", "verdict"}
	numeric   = map[string]bool{
		"median": true, "min": true, "max": true, "allocs/op": true, "p50": true, "p99": true, "vs troupe": true,
		"troupe": true, "other": true, "ratio": true,
	}
)

// row is a line of the table of results.
func (r *Report) row(c Cell) []string {
	row := make([]string, len(header))
	row[0], row[1] = c.Work, c.System
	vs := c.all(Value)
	switch {
	case c.Error != "":
		row[2] = "FAILED"
		return row
	case len(vs) == 0:
		row[2] = "not run"
		return row
	}
	row[2], row[3], row[4] = inUnit(median(vs), c.Unit), inUnit(vs[0], c.Unit), inUnit(vs[len(vs)-1], c.Unit)
	row[5] = string(c.Unit)
	if v, ok := c.Median(Allocs); ok {
		row[6] = ratio(v)
	}
	if v, ok := c.Median(P50); ok {
		row[7] = micros(v)
	}
	if v, ok := c.Median(P99); ok {
		row[8] = micros(v)
	}
	if v, ok := r.Merit(c); ok {
		row[9] = ratio(v)
	}
	return row
}

// row is a line of the table of bars.
func (b Result) row() []string {
	row := []string{b.Work, string(b.Of), b.Demand, "", "", "", string(b.Verdict)}
	if b.Verdict == Open {
		return row
	}
	text := short
	if b.Of == P50 || b.Of == P99 {
		text = micros
	}
	row[3] = text(b.Subject)
	if b.Other != 0 {
		row[4], row[5] = text(b.Other), ratio(b.Ratio)
	}
	return row
}

func inUnit(v float64, u work.Unit) string {
	if u == work.Seconds {
		return fmt.Sprintf("%.2f", v)
	}
	return short(v)
}

// short writes a number with about three digits.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return digits(v/1e6) + " M"
	case v >= 1e4:
		return digits(v/1e3) + " k"
	default:
		return digits(v)
	}
}

func digits(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func ratio(v float64) string  { return fmt.Sprintf("%.2f", v) }
func micros(v float64) string { return fmt.Sprintf("%.0f µs", v/1000) }
