package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parse reads flags strictly: an unknown one is refused with the nearest that
// exists, and so is one that is given twice. A request for help prints it and is [flag.ErrHelp].
func parse(fs *flag.FlagSet, args []string, usage string, help io.Writer) (rest []string, err error) {
	fs.SetOutput(io.Discard) // errors are ours to word
	fs.Usage = func() {}
	restore := takeOnce(fs)
	err = fs.Parse(args)
	restore()
	if errors.Is(err, flag.ErrHelp) {
		fs.SetOutput(help)
		fmt.Fprint(help, usage)
		fs.PrintDefaults()
		return nil, err
	}
	if err == nil {
		return fs.Args(), nil
	}
	if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
		var known []string
		fs.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
		return nil, badUsage("flag -%s is unknown%s", name, suggest(name, known, "-help lists the flags"))
	}
	if m := givenTwice.FindStringSubmatch(err.Error()); m != nil {
		return nil, badUsage("-%s is given twice: give it once", m[1])
	}
	if m := invalidValue.FindStringSubmatch(err.Error()); m != nil {
		return nil, badUsage("-%s %s: %s", m[2], m[1], correct(fs.Lookup(m[2]), m[1]))
	}
	return nil, usageError{err}
}

// once is the value of a flag that refuses to be set again.
type once struct {
	flag.Getter
	given bool
}

var (
	errTwice   = errors.New("given twice")
	givenTwice = regexp.MustCompile(`(?:for (?:flag )?-|boolean flag )(\S+): ` + errTwice.Error() + `$`)
)

func (o *once) Set(text string) error {
	if o.given {
		return errTwice
	}
	o.given = true
	return o.Getter.Set(text)
}

// IsBoolFlag tells package flag that no value need follow.
func (o *once) IsBoolFlag() bool {
	b, ok := o.Getter.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// takeOnce makes all flags of fs refuse to be set twice, until restore is called.
func takeOnce(fs *flag.FlagSet) (restore func()) {
	values := map[string]flag.Value{}
	fs.VisitAll(func(f *flag.Flag) {
		if g, ok := f.Value.(flag.Getter); ok { // every flag of package flag is one
			values[f.Name] = f.Value
			f.Value = &once{Getter: g}
		}
	})
	return func() {
		for name, v := range values {
			fs.Lookup(name).Value = v
		}
	}
}

// helpFlag lets people ask with a word: "help" is the flag -help.
func helpFlag(args []string) []string {
	if len(args) > 0 && args[0] == "help" {
		return append(slices.Clone(args[1:]), "-help")
	}
	return args
}

// invalidValue is what package flag says of a value and a flag.
var invalidValue = regexp.MustCompile(`^invalid value "(.*)" for flag -(\S+): parse error$`)

// correct tells what to write instead of a value that cannot be read.
func correct(f *flag.Flag, value string) string {
	of, _ := f.Value.(flag.Getter) // every flag of package flag is one
	if _, ok := of.Get().(time.Duration); !ok {
		return "write a whole number"
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return "write a unit: " + value + "s"
	}
	return "write a number and a unit, such as 500ms"
}

// suggest completes an error about a word that is none of the known ones.
func suggest(word string, known []string, otherwise string) string {
	best, distance := "", min(len(word)/2, 3)+1 // a word with half its letters wrong is another one
	for _, k := range known {
		if d := edits(word, k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ": " + otherwise
	}
	return fmt.Sprintf(": did you mean %s? (%s)", best, otherwise)
}

// edits is the Levenshtein distance: how many letters to insert, delete or
// replace to make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
