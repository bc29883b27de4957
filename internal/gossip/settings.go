package gossip

import (
	"fmt"
	"slices"
	"strings"
)

// A Setting is one that all nodes of a cluster must agree on. The value is
// compared as it is, and shown to people.
type Setting struct {
	Name  string `cbor:"1,keyasint"`
	Value string `cbor:"2,keyasint"`
}

// valueOf finds a setting by its name.
func valueOf(settings []Setting, name string) (value string, ok bool) {
	i := slices.IndexFunc(settings, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return "", false
	}
	return settings[i].Value, true
}

// common are the own settings that the other side named too.
func common(own, theirs []Setting) []Setting {
	var both []Setting
	for _, s := range own {
		if _, ok := valueOf(theirs, s.Name); ok {
			both = append(both, s)
		}
	}
	return both
}

// differences shows, with both values, the settings that both sides have and do
// not agree on; it is empty if they agree.
func differences(own, theirs []Setting) string {
	var found []string
	for _, s := range own {
		if their, ok := valueOf(theirs, s.Name); ok && their != s.Value {
			found = append(found, fmt.Sprintf("%s is %q here and %.255q there", s.Name, s.Value, their))
		}
	}
	return strings.Join(found, "; ")
}
