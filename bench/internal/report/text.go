package report

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text is the report for a terminal.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.where())
	rows := [][]string{header}
	for i, c := range r.Cells {
		if i == 0 || c.Work != r.Cells[i-1].Work {
			rows = append(rows, nil)
		}
		rows = append(rows, r.row(c))
	}
	writeColumns(&b, rows)
	fmt.Fprintf(&b, "\nvs troupe: how many times as good as Troupe; above 1 is better, whatever the unit.\n\n")
	rows = [][]string{barHeader}
	for _, res := range r.Bars {
		rows = append(rows, res.row())
	}
	writeColumns(&b, rows)
	for _, c := range r.Cells {
		if c.Error != "" {
			fmt.Fprintf(&b, "\n%s failed at %s: %s\n", c.System, c.Work, c.Error)
		}
	}
	return b.String()
}

// where says what the numbers are good for.
func (r *Report) where() string {
	m := r.Machine
	return fmt.Sprintf("%s, %s, GOMAXPROCS %d, %s, rounds: %d", m.Date, m.CPU, m.GOMAXPROCS, m.Go, r.Rounds)
}

// writeColumns writes a table below its header: words to the left, numbers to
// the right.
func writeColumns(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if numeric[rows[0][i]] {
				line += pad + cell + "  "
			} else {
				line += cell + pad + "  "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
