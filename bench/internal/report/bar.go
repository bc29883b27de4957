package report

import (
	"cmp"
	"fmt"
	"slices"
)

// A Bar is a demand on one quantity of the subject in one work: as a ratio to
// the same quantity of somebody else, or as it is if Than is zero.
type Bar struct {
	Work            string
	Of              Quantity
	Than            Yardstick
	AtLeast, AtMost float64 // one of them
}

// A Yardstick is whose result a bar is measured by.
type Yardstick struct {
	System   string
	Work     string // the bar's if empty
	BestPeer bool   // the peer with the best median
}

func (y Yardstick) absolute() bool { return y == Yardstick{} }

// A Verdict is how a bar stands.
type Verdict string

// The verdicts.
const (
	Held   Verdict = "held"
	Missed Verdict = "missed"
	Open   Verdict = "open" // something to compare was not measured
)

// A Result is one bar in one report.
type Result struct {
	Work    string   `json:"work"`
	Of      Quantity `json:"of"`
	Demand  string   `json:"demand"`
	Subject float64  `json:"subject,omitempty"`
	Other   float64  `json:"other,omitempty"`
	Ratio   float64  `json:"ratio,omitempty"` // Subject if the demand is absolute
	Verdict Verdict  `json:"verdict"`
}

// Judge holds the report against all bars of works in it.
func (r *Report) Judge() {
	r.Bars = nil
	for _, b := range bars {
		if slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Work == b.Work }) {
			r.Bars = append(r.Bars, r.judge(b))
		}
	}
}

func (r *Report) judge(b Bar) Result {
	res := Result{Work: b.Work, Of: b.Of, Demand: b.String(), Verdict: Open}
	own, _ := r.cell(b.Work, Subject)
	ours, ok := own.Median(b.Of)
	if !ok {
		return res
	}
	res.Subject, res.Ratio = ours, ours
	if !b.Than.absolute() {
		theirs, ok := r.measure(b)
		if !ok {
			return res
		}
		res.Other, res.Ratio = theirs, ours/theirs
	}
	res.Verdict = Missed
	if b.AtLeast > 0 && res.Ratio >= b.AtLeast || b.AtMost > 0 && res.Ratio <= b.AtMost {
		res.Verdict = Held
	}
	return res
}

// measure gives the median that b compares with.
func (r *Report) measure(b Bar) (v float64, ok bool) {
	at := cmp.Or(b.Than.Work, b.Work)
	for _, c := range r.Cells {
		if c.Work != at || b.Than.BestPeer != isPeer(c.System) || !b.Than.BestPeer && c.System != b.Than.System {
			continue
		}
		if m, has := c.Median(b.Of); has && (!ok || better(b, m, v)) {
			v, ok = m, true
		}
	}
	return v, ok
}

// better tells whether x makes the bar harder than y.
func better(b Bar, x, y float64) bool {
	if b.AtLeast > 0 {
		return x > y
	}
	return x < y
}

// String says the demand in words.
func (b Bar) String() string {
	text, limit := "at most", b.AtMost
	if b.AtLeast > 0 {
		text, limit = "at least", b.AtLeast
	}
	switch {
	case b.Than.absolute():
		return fmt.Sprintf("%s %.3g", text, limit)
	case b.Than.BestPeer:
		return fmt.Sprintf("%s %.3g × the best peer", text, limit)
	case b.Than.Work != "":
		return fmt.Sprintf("%s %.3g × own %s", text, limit, b.Than.Work)
	default:
		return fmt.Sprintf("%s %.3g × %s", text, limit, b.Than.System)
	}
}
