package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// variable is the name of a setting in the environment.
func (s *Set) variable(name string) string {
	return s.prefix + strings.ReplaceAll(strings.ToUpper(name), "-", "_")
}

// serviceVariable is what an orchestrator sets for a service that is called as
// the prefix: DADBOT_SERVICE_HOST, DADBOT_PORT, DADBOT_PORT_8080_TCP_ADDR.
var serviceVariable = regexp.MustCompile(`^(SERVICE_(HOST|PORT)|PORT$|PORT_\d+_)`)

// readEnvironment finds the variables with the prefix. One that is no setting is a
// problem: a setting that is misspelt would be ignored otherwise.
func (s *Set) readEnvironment(environ []string) (values []value, problems []error) {
	if s.prefix == "" {
		return nil, nil
	}
	byVariable := map[string]string{}
	var known []string
	for _, f := range s.all {
		byVariable[s.variable(f.Name)] = f.Name
		known = append(known, s.variable(f.Name))
	}
	for _, pair := range slices.Sorted(slices.Values(environ)) {
		v, text, _ := strings.Cut(pair, "=")
		own, ours := strings.CutPrefix(v, s.prefix)
		name, ok := byVariable[v]
		switch {
		case !ours || serviceVariable.MatchString(own):
		case ok:
			values = append(values, value{name: name, text: text, label: v, origin: v})
		default:
			problems = append(problems, fmt.Errorf("%s is no setting%s", v, Suggest(v, known, "-help lists the settings")))
		}
	}
	return values, problems
}
