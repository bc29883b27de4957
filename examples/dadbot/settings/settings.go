// Package settings reads the settings of a command, strictly: what is misspelt,
// given twice, in the wrong place or of the wrong kind is a problem that says
// where it is and what to write instead, and all problems are told together.
//
// A setting is declared once, as a flag of package flag in a section. The command
// line, the environment and a YAML file may all set it, and the first of them
// that does decides; a value that does not decide is checked all the same:
//
//	dadbot node 1 -gossip 200ms
//	DADBOT_GOSSIP=200ms
//	times: {gossip: 200ms}     in the file that -config names
//
// A Set is for one goroutine; but for the file, it reads nothing by itself.
package settings

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Set is all settings of a command, and where their values come from.
type Set struct {
	prefix   string // of variables of the environment; empty: only flags count
	sections []section
	shown    map[string]func(string) string // of settings whose text is not shown as it is
	origin   map[string]string              // of settings that are given: -gossip, DADBOT_GOSSIP or dadbot.yaml:3

	// Of the command itself, not for the file.
	file           string
	lenient, print bool
}

// A section is a part of the file. The first one of a Set with a prefix has no name
// and is no part of the file: it says which file to read, and how.
type section struct {
	name  string
	flags *flag.FlagSet
}

// New makes a Set without settings. Where a prefix for variables of the environment
// is given, such as DADBOT_, a file has a say as well, and there are the flags
// -config, -config-lenient and -print-config.
func New(prefix string) *Set {
	s := &Set{prefix: prefix, shown: map[string]func(string) string{}, origin: map[string]string{}}
	if prefix != "" {
		own := s.Section("")
		own.StringVar(&s.file, "config", "", "`file` of settings in YAML, written as -print-config prints them; flags and variables such as "+s.variable("config")+" go before it")
		own.BoolVar(&s.lenient, "config-lenient", false, "warn of what is wrong in the file and the environment, and go on without it")
		own.BoolVar(&s.print, "print-config", false, "print all settings, each with where it comes from, and end")
	}
	return s
}

// Section begins a part of the file and gives what to declare its settings with.
// No two settings of a Set may have the same name, and what the String of a value
// gives, its Set must take.
func (s *Set) Section(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	s.sections = append(s.sections, section{name, fs})
	return fs
}

// Hide has the value of a setting printed as show makes it of its text; what is empty
// then is not printed at all.
func (s *Set) Hide(name string, show func(text string) string) { s.shown[name] = show }

// PrintWanted tells whether the user asked for [Set.Print] with a flag.
func (s *Set) PrintWanted() bool { return s.print }

// Given tells whether somebody set the setting, be it to its default.
func (s *Set) Given(name string) bool { return s.origin[name] != "" }

// Load reads the command line, the environment (as [os.Environ] gives it) and the
// file, if one is named. It gives the arguments that are no flags, and an error with
// a line for each problem; with -config-lenient those of the file and the environment
// are warnings. A request for help is [flag.ErrHelp].
func (s *Set) Load(args, environ []string) (rest []string, warnings []error, err error) {
	flags, rest, problems, err := s.readFlags(args)
	if err != nil {
		return nil, nil, errors.Join(append(problems, err)...)
	}
	problems = append(problems, s.take(flags)...)
	variables, warnings := s.readEnvironment(environ)
	warnings = append(warnings, s.take(variables)...)
	if s.file != "" {
		wrong, err := s.readFile(s.file)
		if err != nil {
			problems = append(problems, err)
		}
		warnings = append(warnings, wrong...)
	}
	if !s.lenient {
		problems, warnings = append(problems, warnings...), nil
	}
	return rest, warnings, errors.Join(problems...)
}

// Mention adds to each line of an error where the settings come from that the line
// names as flags, unless they are flags.
func (s *Set) Mention(err error) error {
	if err == nil {
		return nil
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		var from []string
		for _, m := range flagInText.FindAllStringSubmatch(line, -1) {
			at := s.origin[m[1]]
			if words := m[1] + " is from " + at; at != "" && at != "-"+m[1] && !slices.Contains(from, words) {
				from = append(from, words)
			}
		}
		if len(from) > 0 {
			lines[i] += " (" + strings.Join(from, ", ") + ")"
		}
	}
	return mentioned{err, strings.Join(lines, "\n")}
}

// A mentioned error has more words than the one that it wraps.
type mentioned struct {
	error
	text string
}

func (m mentioned) Error() string { return m.text }
func (m mentioned) Unwrap() error { return m.error }

var flagInText = regexp.MustCompile(`(?:^|\s)-([a-z][a-z-]*)`)

// A value is what somebody wrote for a setting.
type value struct {
	name, text string
	label      string // what to call it: -gossip, DADBOT_GOSSIP or dadbot.yaml:3: gossip
	origin     string // where it is: the same without the name behind a line
	line       int    // in the file
}

// take sets what nobody has set before, and checks the rest.
func (s *Set) take(values []value) (problems []error) {
	for _, v := range values {
		f, _ := s.lookup(v.name)
		before := f.Value.String()
		err := f.Value.Set(v.text)
		if err != nil {
			problems = append(problems, problem{v.line, fmt.Sprintf("%s %s: %s", v.label, quote(fmt.Sprintf("%.40s", v.text)), correct(f.Value, v.text, err))})
		}
		if err == nil && !s.Given(v.name) {
			s.origin[v.name] = v.origin
			continue
		}
		if err := f.Value.Set(before); err != nil {
			panic(fmt.Sprintf("settings: -%s does not take its own text %q: %v", v.name, before, err))
		}
	}
	return problems
}

// lookup finds a setting and its section.
func (s *Set) lookup(name string) (*flag.Flag, string) {
	for _, part := range s.sections {
		if f := part.flags.Lookup(name); f != nil {
			return f, part.name
		}
	}
	return nil, ""
}

// all visits the settings by section, and by name within one.
func (s *Set) all(yield func(section string, f *flag.Flag) bool) {
	for _, part := range s.sections {
		more := true
		part.flags.VisitAll(func(f *flag.Flag) { more = more && yield(part.name, f) })
		if !more {
			return
		}
	}
}

// names are those of all settings that pass.
func (s *Set) names(pass func(section string) bool) (names []string) {
	for section, f := range s.all {
		if pass(section) {
			names = append(names, f.Name)
		}
	}
	return names
}

// correct tells what to write instead of a text that cannot be read.
func correct(v flag.Value, text string, err error) string {
	of, _ := v.(flag.Getter) // every value of package flag is one
	switch of.Get().(type) {
	case time.Duration:
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return "write a unit: " + text + "s"
		}
		return "write a number and a unit, such as 500ms"
	case bool:
		return "write true or false"
	case int:
		return "write a whole number"
	case *slog.Level:
		return "write debug, info, warn or error"
	default:
		return err.Error()
	}
}
