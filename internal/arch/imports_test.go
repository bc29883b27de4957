package arch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A rule is the place of one package in the house.
type rule struct {
	at   string // the folder; empty for the root package
	pure bool   // see pure_test.go
	may  string // the packages of this module that it may import, all of them above it
}

// rules are all packages of the root module from left to right, here from top
// to bottom: an import goes up only.
var rules = []rule{
	{at: "internal/member", pure: true},
	{at: "internal/phi", pure: true, may: "internal/member"},
	{at: "internal/gossip", pure: true, may: "internal/member internal/phi"},
	{at: "sbr", pure: true, may: "internal/member"},
	{at: "placement", pure: true, may: "internal/member"},
	{at: "internal/membership", pure: true, may: "internal/member internal/phi internal/gossip sbr"},

	{at: "internal/margin", pure: true, may: "internal/member"},

	{at: "actor"},
	{at: "actor/actortest", may: "actor"},
	{at: "wire", may: "actor"},
	{at: "wire/wiretest", may: "wire"},
	{at: "discover", may: "internal/member"},
	{at: "internal/seldom"},
	{at: "internal/wake"},
	{at: "transport", may: "internal/member internal/seldom actor wire"},
	{at: "transport/certtest"},
	{at: "transport/transporttest", may: "internal/member actor transport"},
	{at: "internal/lease", pure: true},
	{at: "store", may: "internal/lease actor"},
	{at: "store/storetest", may: "store"},
	{at: "", may: "internal/member internal/seldom internal/phi internal/gossip internal/membership internal/wake sbr actor wire discover transport store"},

	{at: "singleton/internal/owner", pure: true, may: "internal/member internal/margin"},
	{at: "singleton", may: "internal/member internal/wake actor wire transport store . singleton/internal/owner"},

	{at: "shard/internal/protocol", pure: true, may: "internal/member placement"},
	{at: "shard/internal/coordinator", pure: true, may: "internal/member internal/margin placement shard/internal/protocol"},
	{at: "shard/internal/region", pure: true, may: "internal/member placement shard/internal/protocol"},
	{at: "shard/internal/ring", pure: true, may: "internal/member placement shard/internal/protocol"},
	{at: "shard/internal/evict", pure: true},
	{at: "shard/internal/window", pure: true, may: "internal/member shard/internal/protocol"},
	{at: "shard/internal/entity", pure: true},
	{at: "shard", may: "internal/member internal/seldom internal/wake placement actor wire transport store . " +
		"shard/internal/protocol shard/internal/coordinator shard/internal/region shard/internal/ring shard/internal/evict shard/internal/window shard/internal/entity"},
	{at: "manage", may: "internal/member internal/seldom actor . shard"},

	// For tests only: nothing above imports them.
	{at: "internal/member/membertest", may: "internal/member"},
	{at: "internal/vectortest"},
	{at: "internal/sim", may: "internal/member internal/margin internal/phi internal/gossip internal/membership sbr"},
	{at: "shard/internal/shardsim", may: "internal/member placement " +
		"internal/lease store shard/internal/protocol shard/internal/coordinator shard/internal/region shard/internal/ring"},
	{at: "internal/stormtest", may: "internal/member transport"},
	{at: "internal/arch"},
}

// libraries are the modules that the root module may depend on outside its tests.
var libraries = []string{"github.com/fxamacker/cbor/v2", "github.com/google/uuid"}

func ruleOf(at string) (rule, bool) {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.at == at })
	if i < 0 {
		return rule{}, false
	}
	return rules[i], true
}

func TestImportsGoLeft(t *testing.T) {
	for _, s := range load(t, root(t), "") {
		r, ok := ruleOf(s.at)
		if !ok {
			t.Errorf("package %q has no place in the house: add it to the rules in internal/arch", s.at)
			continue
		}
		for _, err := range badImports(r, s.imports()) {
			t.Error(err)
		}
	}
}

// badImports are those that the rule does not allow.
func badImports(r rule, imports []string) []error {
	var errs []error
	may := strings.Fields(r.may)
	for _, p := range imports {
		first, _, _ := strings.Cut(p, "/")
		switch own, inside := strings.CutPrefix(p+"/", module+"/"); {
		case inside:
			own = strings.TrimSuffix(own, "/")
			if own == "" {
				own = "."
			}
			if !slices.Contains(may, own) {
				errs = append(errs, fmt.Errorf("package %q imports %q: it may import %v", r.at, own, may))
			}
		case strings.Contains(first, ".") && !slices.Contains(libraries, p):
			errs = append(errs, fmt.Errorf("package %q imports %s: heavy dependencies live in nested modules", r.at, p))
		}
	}
	return errs
}

func TestRulesAreInOrder(t *testing.T) {
	above := map[string]bool{}
	for _, r := range rules {
		for _, p := range strings.Fields(r.may) {
			if !above[p] {
				t.Errorf("package %q may import %q, which is not above it", r.at, p)
			}
			if up, _ := ruleOf(strings.TrimPrefix(p, ".")); r.pure && !up.pure {
				t.Errorf("pure package %q may import %q, which is not pure", r.at, p)
			}
		}
		if r.at == "" {
			above["."] = true
		}
		above[r.at] = true
	}
}

func TestNestedModulesUseThePublicPackages(t *testing.T) {
	for _, dir := range nested(t) {
		for _, s := range load(t, root(t), dir) {
			for _, p := range s.imports() {
				if strings.HasPrefix(p, module+"/internal/") {
					t.Errorf("package %q imports %s: a user could not", s.at, p)
				}
			}
		}
	}
}

// TestEveryModuleIsInTheWorkspace keeps the README's test command, which runs
// the modules of go.work, from passing over one. The tools have no code.
func TestEveryModuleIsInTheWorkspace(t *testing.T) {
	top := root(t)
	found, err := filepath.Glob(filepath.Join(top, "*", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob(filepath.Join(top, "*", "*", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	in := nested(t)
	for _, mod := range append(found, deeper...) {
		dir, err := filepath.Rel(top, filepath.Dir(mod))
		if err != nil {
			t.Fatal(err)
		}
		if dir = filepath.ToSlash(dir); dir != "tools" && !slices.Contains(in, dir) {
			t.Errorf("module ./%s is not in go.work", dir)
		}
	}
	for _, dir := range in {
		if _, err := os.Stat(filepath.Join(top, dir, "go.mod")); err != nil {
			t.Error(err)
		}
	}
}

func TestBadImportsAreFound(t *testing.T) {
	r := rule{at: "x", may: "actor ."}
	for imported, bad := range map[string]bool{
		"fmt":                     false,
		"math/rand/v2":            false,
		module:                    false,
		module + "/actor":         false,
		module + "/actor/deep":    true,
		module + "/shard":         true,
		"github.com/other/module": true,
		"google.golang.org/grpc":  true,
		libraries[0]:              false,
	} {
		if got := badImports(r, []string{imported}); (len(got) > 0) != bad {
			t.Errorf("badImports of %s = %v; want one: %t", imported, got, bad)
		}
	}
}
