package arch

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// vague are names that say nothing about what is inside.
var vague = []string{"base", "common", "core", "helper", "helpers", "lib", "manager", "misc", "shared", "tools", "types", "util", "utils"}

func all(t *testing.T) []*source {
	sources := load(t, root(t), "")
	for _, dir := range nested(t) {
		sources = append(sources, load(t, root(t), dir)...)
	}
	return sources
}

func TestEveryPackageHasOneComment(t *testing.T) {
	for _, s := range all(t) {
		var where []string
		for _, f := range s.files {
			text := f.Doc.Text()
			if text == "" {
				continue
			}
			where = append(where, path.Base(s.fset.Position(f.Pos()).Filename))
			if start := "Package " + s.name + " "; s.name != "main" && !strings.HasPrefix(text, start) {
				t.Errorf("the comment of package %q begins with %.40q; want %q", s.at, text, start)
			}
		}
		if len(where) != 1 {
			t.Errorf("package %q has %d package comments, in %v; want one", s.at, len(where), where)
		}
	}
}

func TestPackageNamesSaySomething(t *testing.T) {
	for _, s := range all(t) {
		if slices.Contains(vague, s.name) {
			t.Errorf("package %q: name it by its idea", s.at)
		}
		if s.name != "main" && s.at != "" && s.name != path.Base(s.at) {
			t.Errorf("package %q is named %s; want the name of its folder", s.at, s.name)
		}
		if s.name != strings.ToLower(s.name) || strings.Contains(s.name, "_") {
			t.Errorf("package %q: a name is one lower-case word", s.at)
		}
	}
}
