// Scale writes the page about the size of clusters from what the simulator has
// measured:
//
//	go run ./bench/scale -from bin/scale.json -page docs/scale.md -plot docs/scale.svg
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// size is what was measured of clusters of one size, as the simulator writes it.
type size struct {
	Nodes  int     `json:"nodes"`
	Phases []phase `json:"phases"`
}

type phase struct {
	Name    string        `json:"name"`
	Took    time.Duration `json:"took"`
	Rounds  float64       `json:"rounds"`
	Mean    float64       `json:"mean"`
	Busiest float64       `json:"busiest"`
	Most    int           `json:"most"`
}

const (
	begin = "<!-- scale: begin -->"
	end   = "<!-- scale: end -->"
)

func main() {
	from := flag.String("from", "bin/scale.json", "what the simulator has measured")
	page := flag.String("page", "docs/scale.md", "the page whose table is replaced")
	picture := flag.String("plot", "docs/scale.svg", "the plot")
	flag.Parse()
	if err := write(*from, *page, *picture); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func write(from, page, picture string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var sizes []size
	if err := json.Unmarshal(data, &sizes); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return errors.New(page + " lacks the marks of its table")
	}
	if err := os.WriteFile(page, []byte(before+begin+"\n\n"+table(sizes)+"\n"+end+after), 0o600); err != nil {
		return err
	}
	return draw(sizes, picture)
}

func table(sizes []size) string {
	var b strings.Builder
	b.WriteString("| nodes | change | virtual time = rounds | kB/s a node, mean | kB of the busiest node in its busiest second | messages of it |\n")
	b.WriteString("| --: | --- | --: | --: | --: | --: |\n")
	for _, s := range sizes {
		for _, p := range s.Phases {
			took := fmt.Sprintf("%.1f s", p.Took.Seconds())
			if p.Name == "rest" {
				took = ""
			}
			fmt.Fprintf(&b, "| %d | %s | %s | %.1f | %.1f | %d |\n", s.Nodes, p.Name, took, p.Mean/1e3, p.Busiest/1e3, p.Most)
		}
	}
	return b.String()
}

// draw plots the time of each change against the size.
func draw(sizes []size, picture string) error {
	p := plot.New()
	p.Title.Text = "Until all agree"
	p.X.Label.Text, p.Y.Label.Text = "nodes", "seconds of virtual time"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{}
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Left = true, true
	lines := map[string]plotter.XYs{}
	var names []string
	for _, s := range sizes {
		for _, ph := range s.Phases {
			if ph.Name == "rest" {
				continue
			}
			if !slices.Contains(names, ph.Name) {
				names = append(names, ph.Name)
			}
			lines[ph.Name] = append(lines[ph.Name], plotter.XY{X: float64(s.Nodes), Y: ph.Took.Seconds()})
		}
	}
	var all []any
	for _, name := range names {
		all = append(all, name, lines[name])
	}
	if err := plotutil.AddLinePoints(p, all...); err != nil {
		return err
	}
	return p.Save(7*vg.Inch, 4*vg.Inch, picture)
}
