package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/troupe-go/troupe"

// source is the code of one package, without its tests.
type source struct {
	at    string // its folder below the root of the repository; empty for the root
	name  string
	fset  *token.FileSet
	files []*ast.File
}

// imports are the import paths of all files, sorted.
func (s *source) imports() []string {
	var paths []string
	for _, f := range s.files {
		for _, i := range f.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// load parses the packages below dir, a folder of the repository, in the order
// of their folders. It stops at nested modules.
func load(t *testing.T, root, dir string) []*source {
	t.Helper()
	var sources []*source
	err := filepath.WalkDir(filepath.Join(root, dir), func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		at, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		at = path.Clean(filepath.ToSlash(at))
		if at != path.Clean(dir) && outside(p) {
			return fs.SkipDir
		}
		s, err := parse(p, at)
		if err == nil && len(s.files) > 0 {
			sources = append(sources, s)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// outside tells whether a folder is no part of the module around it.
func outside(dir string) bool {
	base := filepath.Base(dir)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func parse(dir, at string) (*source, error) {
	if at == "." {
		at = ""
	}
	s := &source{at: at, fset: token.NewFileSet()}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(s.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.name, s.files = f.Name.Name, append(s.files, f)
	}
	return s, nil
}

// root is the root of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.work")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// nested are the folders of the other modules of go.work.
func nested(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for line := range strings.Lines(string(text)) {
		if dir, ok := strings.CutPrefix(strings.TrimSpace(line), "./"); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
