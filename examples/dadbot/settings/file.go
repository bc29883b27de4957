package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// readFile takes what the file sets, and tells what is wrong with single settings.
func (s *Set) readFile(path string) (problems []error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("-config: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("-config: %w", err)
	case len(text) > maxFile:
		return nil, fmt.Errorf("-config: %s has more than %d bytes: is it the right file?", path, maxFile)
	}
	return s.readText(path, text)
}

const maxFile = 64 << 10 // bytes: more than people write

// readText is readFile for the text of a file.
func (s *Set) readText(path string, text []byte) (problems []error, err error) {
	values, problems, err := s.parseFile(path, text)
	problems = append(problems, s.take(values)...)
	slices.SortStableFunc(problems, func(a, b error) int { return lineOf(a) - lineOf(b) })
	return problems, err
}

// A problem is an error with its line in the file.
type problem struct {
	line int
	text string
}

func (p problem) Error() string { return p.text }

func lineOf(err error) int {
	p, _ := errors.AsType[problem](err)
	return p.line
}

// parseFile reads sections of settings. What is wrong with single ones are problems;
// what is no YAML is an error, since what follows it may mean anything.
func (s *Set) parseFile(path string, text []byte) (values []value, problems []error, err error) {
	root, err := parseYAML(path, text)
	if err != nil || root == nil {
		return nil, nil, err
	}
	r := reader{set: s, path: path, lines: map[string]int{}}
	if root.Kind != yaml.MappingNode {
		return nil, nil, fmt.Errorf("%s:%d: write sections of settings: -print-config shows how", path, root.Line)
	}
	for i := 0; i < len(root.Content); i += 2 {
		r.section(root.Content[i], root.Content[i+1])
	}
	return r.values, r.problems, nil
}

// parseYAML gives the one value of the file, or nil where it has none. Nodes are
// taken as they are written: nothing is expanded, so a small file stays small.
func parseYAML(path string, text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	for _, n := range []*yaml.Node{&doc, &more} {
		if err := decoder.Decode(n); err != nil && !errors.Is(err, io.EOF) {
			if at, ok := errors.AsType[*yaml.LoadError](err); ok && at.Mark.Line > 0 {
				return nil, fmt.Errorf("%s:%d: this is no YAML: %s", path, at.Mark.Line, at.Message)
			}
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if more.Kind != 0 {
		return nil, fmt.Errorf("%s:%d: a second document begins here: write one", path, more.Line)
	}
	if doc.Kind == 0 || doc.Content[0].Tag == "!!null" {
		return nil, nil
	}
	return doc.Content[0], nil
}

// A reader goes through the file.
type reader struct {
	set      *Set
	path     string
	lines    map[string]int // where a section or setting is, by name
	values   []value
	problems []error
}

func (r *reader) problem(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, problem{n.Line, fmt.Sprintf("%s:%d: ", r.path, n.Line) + fmt.Sprintf(format, args...)})
}

// first tells whether a name, of a section with a colon behind it, was not there before.
func (r *reader) first(key *yaml.Node, name string) bool {
	if at, ok := r.lines[name]; ok {
		r.problem(key, "%s is there twice, first in line %d: write it once", key.Value, at)
		return false
	}
	r.lines[name] = key.Line
	return true
}

func (r *reader) section(key, body *yaml.Node) {
	var names []string
	for _, part := range r.set.sections {
		if part.name == "" {
			continue
		}
		names = append(names, part.name)
		if part.name == key.Value && key.Kind == yaml.ScalarNode {
			r.first(key, part.name+":") // what it holds is read all the same
			r.settings(part.name, body)
			return
		}
	}
	switch f, at := r.set.lookup(key.Value); {
	case key.Kind != yaml.ScalarNode:
		r.problem(key, "write the name of a section: %s", strings.Join(names, ", "))
	case f != nil:
		r.misplaced(key, at)
	default:
		r.problem(key, "%.40s is no section%s", key.Value, instead(key.Value, names))
	}
}

// misplaced says where a setting belongs.
func (r *reader) misplaced(key *yaml.Node, section string) {
	if section == "" {
		r.problem(key, "%s is for the command line and the environment only", key.Value)
		return
	}
	r.problem(key, "%s is a setting of the section %s: write it there", key.Value, section)
}

func (r *reader) settings(section string, body *yaml.Node) {
	switch {
	case body.Tag == "!!null": // all of it is commented out
		return
	case body.Kind != yaml.MappingNode:
		r.problem(body, "%s is a section: write its settings below it, each in a line as name: value", section)
		return
	}
	for i := 0; i < len(body.Content); i += 2 {
		r.setting(section, body.Content[i], body.Content[i+1])
	}
}

func (r *reader) setting(section string, key, text *yaml.Node) {
	name := key.Value
	f, at := r.set.lookup(name)
	switch {
	case key.Kind != yaml.ScalarNode:
		r.problem(key, "write the name of a setting of %s", section)
	case f == nil:
		r.unknown(section, key)
	case at != section:
		r.misplaced(key, at)
	case !r.first(key, name):
	case text.Kind == yaml.AliasNode:
		r.problem(text, "%s: write the value itself instead of *%.40s", name, text.Value)
	case text.Kind != yaml.ScalarNode:
		r.problem(text, "%s: write one value; several are separated by commas", name)
	case text.Tag == "!!null":
		r.problem(key, "%s has no value: write one, or leave it out", name)
	default:
		origin := fmt.Sprintf("%s:%d", r.path, key.Line)
		r.values = append(r.values, value{name: name, text: text.Value, label: origin + ": " + name, origin: origin, line: key.Line})
	}
}

// unknown proposes a setting of the same section, or of another one.
func (r *reader) unknown(section string, key *yaml.Node) {
	here := r.set.names(func(at string) bool { return at == section })
	elsewhere := r.set.names(func(at string) bool { return at != section && at != "" })
	if near := nearest(key.Value, elsewhere); near != "" && nearest(key.Value, here) == "" {
		_, at := r.set.lookup(near)
		r.problem(key, "%.40s is no setting: did you mean %s, in the section %s?", key.Value, near, at)
		return
	}
	r.problem(key, "%.40s is no setting of %s%s", key.Value, section, instead(key.Value, here))
}

// instead completes a problem with the nearest of the known words, or all of them.
func instead(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return ": did you mean " + near + "?"
	}
	return ": there are " + strings.Join(known, ", ")
}
