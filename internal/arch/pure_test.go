package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A pure package decides and does nothing else: what it gives depends on its
// arguments alone, so that it runs the same in production, in the simulator and
// under the vectors. See docs/architecture.md.

// impure are the packages that a pure one does not import.
var impure = []string{
	"context", "crypto/rand", "log", "log/slog", "math/rand", "net", "net/http",
	"os", "runtime", "sync", "sync/atomic", "syscall", "unsafe",
}

// clock are the functions of package time that read or follow the clock.
var clock = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

// seeded are the names of math/rand/v2 that do not draw from the global source.
var seeded = []string{"ChaCha8", "New", "NewChaCha8", "NewPCG", "NewZipf", "PCG", "Rand", "Source", "Zipf"}

func TestPurePackages(t *testing.T) {
	for _, s := range load(t, root(t), "") {
		if r, _ := ruleOf(s.at); r.pure {
			for _, problem := range impurities(s) {
				t.Error(problem)
			}
		}
	}
}

// impurities are the places where the package does what a pure one does not.
func impurities(s *source) []string {
	var found []string
	report := func(at token.Pos, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: %s", s.fset.Position(at), fmt.Sprintf(format, args...)))
	}
	for _, f := range s.files {
		for _, i := range f.Imports {
			if p, _ := strconv.Unquote(i.Path.Value); slices.Contains(impure, p) {
				report(i.Pos(), "a pure package imports %s", p)
			}
		}
		local := localNames(f)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				report(n.Pos(), "a pure package starts a goroutine")
			case *ast.SelectStmt:
				report(n.Pos(), "a pure package waits in a select")
			case *ast.ChanType:
				report(n.Pos(), "a pure package has a channel")
			case *ast.SelectorExpr:
				p := local[identName(n.X)]
				switch {
				case p == "time" && slices.Contains(clock, n.Sel.Name):
					report(n.Pos(), "a pure package uses time.%s: take the time as an argument", n.Sel.Name)
				case p == "math/rand/v2" && !slices.Contains(seeded, n.Sel.Name):
					report(n.Pos(), "a pure package uses rand.%s: take the source as an argument", n.Sel.Name)
				}
			case *ast.GenDecl:
				if n.Tok == token.VAR {
					found = append(found, mutable(s, f, n)...)
				}
			}
			return true
		})
	}
	return found
}

// mutable reports the package-level variables among the declared that are more
// than a constant for which Go has no constant type: a table that is written
// where it is declared, an error. Interface checks (var _ I = T{}) are none.
func mutable(s *source, f *ast.File, d *ast.GenDecl) []string {
	if !slices.Contains(f.Decls, ast.Decl(d)) {
		return nil
	}
	var found []string
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		for _, name := range v.Names {
			if name.Name != "_" && !slices.ContainsFunc(v.Values, constant) {
				found = append(found, fmt.Sprintf("%s: a pure package has the variable %s", s.fset.Position(name.Pos()), name.Name))
			}
		}
	}
	return found
}

func constant(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CompositeLit:
		return true
	case *ast.CallExpr:
		f, ok := e.Fun.(*ast.SelectorExpr)
		return ok && identName(f.X) == "errors" && f.Sel.Name == "New"
	default:
		return false
	}
}

// localNames maps the names of imported packages in a file to their paths.
func localNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		parts := strings.Split(p, "/")
		name := parts[len(parts)-1]
		if len(parts) > 1 && strings.HasPrefix(name, "v") && strings.Trim(name[1:], "0123456789") == "" {
			name = parts[len(parts)-2]
		}
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = p
	}
	return names
}

func identName(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

func TestImpuritiesAreFound(t *testing.T) {
	for code, want := range map[string]string{
		`import "os"`: "imports os",
		`import clk "time"; func f() { clk.Sleep(1) }`:              "time.Sleep",
		`import "time"; func f(d time.Duration) { _ = time.Now }`:   "time.Now",
		`import "math/rand/v2"; func f() { rand.IntN(3) }`:          "rand.IntN",
		`import "math/rand/v2"; func f(r *rand.Rand) { r.IntN(3) }`: "",
		`func f() { go f() }`:                           "goroutine",
		`func f(c chan int) {}`:                         "channel",
		`var n int`:                                     "variable n",
		`var table = []int{1, 2}; var _ = table`:        "",
		`func f() { var n int; _ = n }`:                 "",
		`import "errors"; var ErrOf = errors.New("of")`: "",
		`func f(m map[int]int) (s []int) { for k := range m { s = append(s, k) }; return s }`: "range over a map",
		`func f(m map[int]int) (n int) { for range m { n++ }; return n }`:                     "",
	} {
		s := &source{fset: token.NewFileSet()}
		f, err := parser.ParseFile(s.fset, "code.go", "package p; "+code, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		s.files = []*ast.File{f}
		got := strings.Join(append(impurities(s), unordered(t, s)...), "\n")
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: found %q; want %q", code, got, want)
		}
	}
}
