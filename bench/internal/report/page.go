package report

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// The results stand between these lines of the page.
const (
	pageBegin = "<!-- bench: begin -->\n"
	pageEnd   = "<!-- bench: end -->\n"
)

// UpdatePage replaces what stands between the markers of a Markdown page.
func (r *Report) UpdatePage(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(pageBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(pageEnd))
	if !ok || !ok2 {
		return fmt.Errorf("%s: no lines %q and %q to write between", path, pageBegin, pageEnd)
	}
	page := string(before) + pageBegin + r.markdown() + pageEnd + string(after)
	return os.WriteFile(path, []byte(page), 0o644)
}

// markdown is the report as tables.
func (r *Report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s.\n\n", r.where())
	writeHeader(&b, header)
	for _, c := range r.Cells {
		writeRow(&b, r.row(c))
	}
	b.WriteString("\n")
	writeHeader(&b, barHeader)
	for _, res := range r.Bars {
		row := res.row()
		if res.Verdict == Missed {
			row[len(row)-1] = "**missed**"
		}
		writeRow(&b, row)
	}
	b.WriteString("\n")
	return b.String()
}

func writeRow(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

func writeHeader(b *strings.Builder, names []string) {
	rule := make([]string, len(names))
	for i, name := range names {
		rule[i] = "---"
		if numeric[name] {
			rule[i] = "--:"
		}
	}
	writeRow(b, names)
	writeRow(b, rule)
}
