package sim

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var mutantsFlag = flag.Bool("mutants", false, "plant faults in the cores one by one, and see that storms find each")

// A planted fault is a change to the source of a core.
type planted struct {
	name     string
	file     string // from the root of the module
	old, new string // old is there exactly once
}

var plants = []planted{
	{
		"agreement does not need all eyes", "internal/gossip/perspective.go",
		"if (mustSee && !hasSeen || mustReach && unreachable.has(m.ID)) &&", "if (mustSee && !hasSeen && m.ID == p.Self || mustReach && unreachable.has(m.ID)) &&",
	},
	{
		"changes are not counted", "internal/gossip/state.go",
		"	c.Version = s.Version.Increment(id)\n", "",
	},
	{
		"merged clocks take the lesser count", "internal/gossip/clock.go",
		"if l == nil || r != nil && r.N > l.N {", "if l == nil || r != nil && r.N < l.N {",
	},
	{
		"who has seen a version counts for the next", "internal/gossip/state.go",
		"	c.Version = s.Version.Increment(id)\n	c.Seen = seen\n", "	c.Version = s.Version.Increment(id)\n	c.Seen = ids(s.Seen).with(id)\n",
	},
	{
		"a predecessor joins late", "internal/gossip/letin.go",
		"case there.Replaces(from) && there.Status != member.Down:", "case there.Replaces(from) && there.Status == member.Exiting:",
	},
	{
		"indirectly connected members stay", "sbr/decide.go",
		"return union(intersect(downable, s.doubtful), rest), fellBack", "return rest, fellBack",
	},
	{
		"silence is taken for refusal", "internal/membership/crash.go",
		"	case gossip.Silent:\n		k.spoken(now, s)\n	case gossip.Refused, gossip.Replaced:", "	case gossip.Silent, gossip.Refused, gossip.Replaced:",
	},
	{
		"merges forget tombstones", "internal/gossip/merge.go",
		"Tombstones: mergeTombstones(s.Tombstones, o.Tombstones)", "Tombstones: s.Tombstones",
	},
	{
		"merges let statuses go back", "internal/gossip/merge.go",
		"if is != nil && was != nil && life[was.Status] > life[is.Status] {", "if is != nil && was != nil && life[was.Status] < life[is.Status] {",
	},
	{
		"older observations win", "internal/gossip/table.go",
		"r.version >= l.version", "r.version < l.version",
	},
	{
		"a successor joins beside its predecessor", "internal/gossip/letin.go",
		"next = next.Remove(there.ID, m.now.UnixMilli())", "_ = there",
	},
	{
		"nobody is ever suspected", "internal/phi/detector.go",
		"return d.Phi(now) < d.settings.Threshold", "return true",
	},
	{
		"a tie leaves both sides", "sbr/majority.go",
		"case here > there:", "case here >= there:",
	},
	{
		"resolvers do not wait until it is stable", "sbr/resolver.go",
		"case !r.responsible() || now.Before(r.stableAt()):", "case !r.responsible():",
	},
	{
		"a lease that is denied is used", "sbr/resolver.go",
		"return r.carryOut(now, d.Denied())", "return r.carryOut(now, d)",
	},
	{
		"a third of the members confirms a crash", "internal/membership/crash.go",
		"func majority(members int) int { return members/2 + 1 }", "func majority(members int) int { return (members + 2) / 3 }",
	},
	{
		"who is cut off goes on", "internal/membership/cutoff.go",
		"return at.Add(k.isolation / 2)", "return time.Time{}",
	},
}

// A planted fault says where it is to be planted; the source must not have
// moved on.
func TestPlantsApply(t *testing.T) {
	for _, p := range plants {
		if _, err := p.plant(root); err != nil {
			t.Error(err)
		}
	}
}

// root is that of the module, from here.
const root = "../.."

// plant gives the changed file.
func (p planted) plant(root string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, p.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), p.old); n != 1 {
		return "", fmt.Errorf("%s: %s has %d times, want once: %q", p.name, p.file, n, p.old)
	}
	return strings.Replace(string(source), p.old, p.new, 1), nil
}

// With -mutants, each planted fault must be found by the storms of a thousand
// seeds. The faulty files are laid over the true ones by the go command, so
// that nothing of this is in the cores.
func TestStormsFindPlants(t *testing.T) {
	if !*mutantsFlag {
		t.Log("not asked for: use -mutants")
		return
	}
	for _, p := range plants {
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) {
			out, err := p.storm(t)
			if err == nil {
				t.Fatalf("%s: %s survived all seeds:\n%s", p.file, p.name, out)
			}
			found, _, _ := strings.Cut(out[strings.Index(out, "seed "):], "\n")
			t.Logf("found: %.200s", found)
		})
	}
}

// storm runs storms over a faulty core; nil means that they did not find it.
func (p planted) storm(t *testing.T) (string, error) {
	t.Helper()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.plant(top)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	faulty, overlay, binary := filepath.Join(dir, "faulty.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "sim.test")
	lay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(top, p.file): faulty}})
	if err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string][]byte{faulty: []byte(text), overlay: lay} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-o", binary, "./internal/sim")
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s does not build: %v\n%s", p.name, err, out)
	}
	run := exec.CommandContext(t.Context(), binary, "-test.run", "^TestStorm$", "-test.timeout", (10 * time.Minute).String(), "-seeds", "1000", "-whole")
	run.Dir = filepath.Join(top, "internal", "sim")
	out, err := run.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "seed ") {
		t.Fatalf("%s: %v\n%s", p.name, err, out)
	}
	return string(out), err
}
