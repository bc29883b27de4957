package settings

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"text/tabwriter"
)

// Print writes the settings as a file that gives the same again, each with where
// it comes from: what nobody has set, and what is not to be shown, is a comment.
func (s *Set) Print(w io.Writer) error {
	var text bytes.Buffer
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	last := ""
	for section, f := range s.all {
		if section == "" {
			continue
		}
		if section != last {
			fmt.Fprintf(columns, "%s:\n", section)
			last = section
		}
		fmt.Fprintf(columns, "  %s\t# %s\n", s.line(f), s.from(f))
	}
	columns.Flush()
	_, err := w.Write(text.Bytes())
	return err
}

// line is a setting as the file has it.
func (s *Set) line(f *flag.Flag) string {
	text := f.Value.String()
	if show, ok := s.shown[f.Name]; ok && text != "" {
		switch shown := show(text); shown {
		case text:
		case "":
			return "# " + f.Name + ": (not shown)"
		default:
			return "# " + f.Name + ": " + quote(shown)
		}
	}
	switch {
	case s.Given(f.Name):
		return f.Name + ": " + quote(text)
	case text == "" || defaultWords.MatchString(f.Usage):
		return "# " + f.Name + ":"
	default:
		return "# " + f.Name + ": " + quote(text)
	}
}

// defaultWords are those of the help, where the default is no value.
var defaultWords = regexp.MustCompile(`\((default:? [^()]*)\)`)

func (s *Set) from(f *flag.Flag) string {
	if s.Given(f.Name) {
		return s.origin[f.Name]
	}
	if m := defaultWords.FindStringSubmatch(f.Usage); m != nil {
		return m[1]
	}
	return "default"
}

// plain is what YAML reads as it is.
var plain = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_./:@,+-]*[A-Za-z0-9_./@+-])?$`)

// null is what it takes for no value at all.
var null = regexp.MustCompile(`^(?i:null)$`)

func quote(text string) string {
	if plain.MatchString(text) && !null.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}
