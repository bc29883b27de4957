package settings

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// readFlags reads the command line. A flag that is unknown ends it with an error,
// since what follows it may be its value.
func (s *Set) readFlags(args []string) (values []value, rest []string, problems []error, err error) {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are ours to word
	seen := map[string]bool{}
	for _, f := range s.all {
		fs.Var(&note{f.Value, func(text string) {
			if seen[f.Name] {
				problems = append(problems, fmt.Errorf("-%s is given twice: give it once", f.Name))
				return
			}
			seen[f.Name] = true
			values = append(values, value{name: f.Name, text: text, label: "-" + f.Name, origin: "-" + f.Name})
		}}, f.Name, f.Usage)
	}
	err = fs.Parse(args)
	if err == nil {
		return values, fs.Args(), problems, nil
	}
	if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
		known := s.names(func(string) bool { return true })
		err = fmt.Errorf("flag -%s is unknown%s", name, Suggest(name, known, "-help lists the flags"))
	}
	return nil, nil, problems, err
}

// A note is a value that is only written down.
type note struct {
	flag.Value
	write func(text string)
}

func (n *note) Set(text string) error {
	n.write(text)
	return nil
}

// IsBoolFlag tells package flag that no value need follow.
func (n *note) IsBoolFlag() bool {
	b, ok := n.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// PrintHelp lists the settings as flags, by section.
func (s *Set) PrintHelp(w io.Writer) {
	for _, part := range s.sections {
		if part.name != "" {
			fmt.Fprintf(w, "\n%s:\n", part.name)
		}
		part.flags.SetOutput(w)
		part.flags.PrintDefaults()
	}
}
