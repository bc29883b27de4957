package arch

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// anyOrder in a comment on a line, or on the one above, says why the order of a
// map does not matter there:
//
//	for id := range seen { // any order: they are only counted
const anyOrder = "any order: "

// ordered are the functions of package slices that give a map's keys or values
// an order.
var ordered = []string{"Sorted", "SortedFunc", "SortedStableFunc"}

func TestMapOrderStaysInside(t *testing.T) {
	for _, s := range load(t, root(t), "") {
		if r, _ := ruleOf(s.at); r.pure {
			for _, problem := range unordered(t, s) {
				t.Error(problem)
			}
		}
	}
}

// unordered are the places where the order of a map could reach an output.
func unordered(t *testing.T, s *source) []string {
	t.Helper()
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: importer.ForCompiler(s.fset, "gc", exported(t)), Error: func(error) {}}
	// An error here is the compiler's to tell; the self-test's unused imports are some.
	_, _ = conf.Check(s.at, s.fset, s.files, info)

	var found []string
	for _, f := range s.files {
		excused := excuses(s, f)
		sorted := map[ast.Node]bool{} // arguments of a sorting function
		local := localNames(f)
		calls := func(n ast.Node, pkg string, names ...string) bool {
			sel, ok := n.(*ast.SelectorExpr)
			return ok && local[identName(sel.X)] == pkg && slices.Contains(names, sel.Sel.Name)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			what := ""
			switch n := n.(type) {
			case *ast.CallExpr:
				if calls(n.Fun, "slices", ordered...) {
					sorted[n.Args[0]] = true
				}
				if calls(n.Fun, "maps", "All", "Keys", "Values") && !sorted[n] {
					what = "an unsorted " + n.Fun.(*ast.SelectorExpr).Sel.Name + " of a map"
				}
			case *ast.RangeStmt:
				if typ := info.TypeOf(n.X); n.Key != nil && typ != nil && isMap(typ) {
					what = "a range over a map"
				}
			}
			if what != "" {
				if at := s.fset.Position(n.Pos()); !excused[at.Line] {
					found = append(found, fmt.Sprintf("%s: %s: sort it, or say why not by a comment %q", at, what, anyOrder+"…"))
				}
			}
			return true
		})
	}
	return found
}

func isMap(typ types.Type) bool {
	_, ok := typ.Underlying().(*types.Map)
	return ok
}

// excuses are the lines with a comment that says why any order will do.
func excuses(s *source, f *ast.File) map[int]bool {
	lines := map[int]bool{}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if strings.Contains(c.Text, anyOrder) {
				line := s.fset.Position(c.Pos()).Line
				lines[line], lines[line+1] = true, true
			}
		}
	}
	return lines
}

// exported finds the compiler's export data of what the pure packages import.
func exported(t *testing.T) importer.Lookup {
	t.Helper()
	files, err := exportFiles()
	if err != nil {
		t.Fatal(err)
	}
	return func(path string) (io.ReadCloser, error) {
		file, ok := files[path]
		if !ok {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(file)
	}
}

var exportFiles = sync.OnceValues(func() (map[string]string, error) {
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "time", "math/rand/v2"}
	for _, r := range rules {
		if _, err := os.Stat("../../" + r.at); r.pure && err == nil {
			args = append(args, module+"/"+r.at)
		}
	}
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -export of the pure packages: %w", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	return files, nil
})
