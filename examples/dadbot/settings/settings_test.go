package settings

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A kitchen is a little set of settings of each kind.
type kitchen struct {
	*Set
	name, secret, mode string
	fast               bool
	cooks              int
	level              slog.Level
	wait               time.Duration
}

func newKitchen() *kitchen {
	k := &kitchen{Set: New("KITCHEN_")}
	s := k.Section("kitchen")
	s.StringVar(&k.name, "name", "", "what it is called")
	s.StringVar(&k.secret, "secret", "", "what nobody may see")
	s.StringVar(&k.mode, "mode", "", "how it works (default: as it likes)")
	s.IntVar(&k.cooks, "cooks", 2, "how many")
	s.TextVar(&k.level, "level", slog.LevelInfo, "how loud")
	k.Hide("secret", func(string) string { return "" })
	s = k.Section("times")
	s.BoolVar(&k.fast, "fast", false, "not slow")
	s.DurationVar(&k.wait, "wait-for", time.Second, "for how long")
	return k
}

// write makes a file and gives its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kitchen.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOPS02FlagsGoBeforeTheEnvironmentBeforeTheFile(t *testing.T) {
	for _, tt := range []struct {
		flags, env, file string
		want             time.Duration
		from             string
	}{
		{"", "", "", time.Second, ""},
		{"", "", "4s", 4 * time.Second, "FILE:2"},
		{"", "3s", "4s", 3 * time.Second, "KITCHEN_WAIT_FOR"},
		{"-wait-for=2s", "3s", "4s", 2 * time.Second, "-wait-for"},
		{"-wait-for 2s", "", "4s", 2 * time.Second, "-wait-for"},
		{"-wait-for=1s", "3s", "4s", time.Second, "-wait-for"}, // also where it is the default
	} {
		k := newKitchen()
		args, env := strings.Fields(tt.flags), []string{"HOME=/", "KITCHEN_PORT_80_TCP=a"}
		path := ""
		if tt.file != "" {
			path = write(t, "times:\n  wait-for: "+tt.file+"\n")
			args = append(args, "-config", path)
		}
		if tt.env != "" {
			env = append(env, "KITCHEN_WAIT_FOR="+tt.env)
		}
		rest, warnings, err := k.Load(append(args, "rest"), env)
		if err != nil || len(warnings) > 0 || len(rest) != 1 {
			t.Fatalf("%+v: %v, %v, %v; want no problem", tt, rest, warnings, err)
		}
		from := strings.ReplaceAll(tt.from, "FILE", path)
		if k.wait != tt.want || k.origin["wait-for"] != from || k.Given("wait-for") != (from != "") {
			t.Errorf("%+v: %v from %q", tt, k.wait, k.origin["wait-for"])
		}
	}
}

// What is overruled is wrong all the same: it would decide one day.
func TestOPS02EachProblemIsTold(t *testing.T) {
	path := write(t, "kitchen:\n  cooks: few\n  nane: x\ntimes:\n  wait-for: 10\n")
	args := []string{"-config", path, "-wait-for", "1s", "-cooks", "3", "-fast=maybe", "-fast", "-level", "loud"}
	env := []string{"KITCHEN_COOKS=", "KITCHEN_NANE=x", "KITCHEN_level=info"}
	want := strings.ReplaceAll(`-fast is given twice: give it once
-fast maybe: write true or false
-level loud: write debug, info, warn or error
KITCHEN_NANE is no setting: did you mean KITCHEN_NAME? (-help lists the settings)
KITCHEN_level is no setting: did you mean KITCHEN_LEVEL? (-help lists the settings)
KITCHEN_COOKS "": write a whole number
FILE:2: cooks few: write a whole number
FILE:3: nane is no setting of kitchen: did you mean name?
FILE:5: wait-for 10: write a unit: 10s`, "FILE", path)
	if _, warnings, err := newKitchen().Load(args, env); err == nil || err.Error() != want || len(warnings) > 0 {
		t.Errorf("got %v and the warnings %v, want\n%s", err, warnings, want)
	}
}

func TestOPS02LenientWarnsAndGoesOn(t *testing.T) {
	path := write(t, "kitchen:\n  cooks: few\n  nane: x\n  name: Ann's\ntimes:\n  wait-for: 10\n")
	k := newKitchen()
	_, warnings, err := k.Load([]string{"-config", path, "-config-lenient"}, []string{"KITCHEN_FAST=perhaps", "KITCHEN_NANE=x"})
	if err != nil || len(warnings) != 5 {
		t.Errorf("%d warnings %v, and %v; want 5 and no error", len(warnings), warnings, err)
	}
	if k.cooks != 2 || k.wait != time.Second || k.fast || k.name != "Ann's" || k.Given("cooks") {
		t.Errorf("what is wrong changes a setting, or what is right does not: %+v", k)
	}
	if _, _, err := newKitchen().Load([]string{"-config", path, "-config-lenient", "-cooks", "few"}, nil); err == nil {
		t.Error("a wrong flag is no problem with -config-lenient, want it refused: who writes it is there to see it")
	}
}

func TestFilesThatAreNone(t *testing.T) {
	for _, tt := range []struct{ what, text, want string }{
		{"empty", "", ""},
		{"a comment", "# nothing\n", ""},
		{"empty sections", "kitchen:\ntimes:\n", ""},
		{"a list", "- kitchen\n", ":1: write sections"},
		{"a word", "kitchen\n", ":1: write sections"},
		{"two documents", "kitchen:\n---\ntimes:\n", ":2: a second document begins here"},
		{"no YAML", "kitchen: [\n", "this is no YAML"},
		{"a bomb", strings.Repeat("[", 20000), "exceeded max depth"},
		{"too large", strings.Repeat("#", maxFile+1), "more than 65536 bytes"},
	} {
		k := newKitchen()
		_, _, err := k.Load([]string{"-config", write(t, tt.text)}, nil)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.what, err, tt.want)
		}
	}
}

func TestOPS02ProblemsMentionWhereSettingsAre(t *testing.T) {
	k := newKitchen()
	path := write(t, "kitchen:\n  cooks: 0\n")
	if _, _, err := k.Load([]string{"-config", path, "-name", "x"}, []string{"KITCHEN_WAIT_FOR=2s"}); err != nil {
		t.Fatal(err)
	}
	got := k.Mention(errors.New("-cooks is 0, which -cooks must not be, with -name x\n-wait-for is 2s\nno-wait-for"))
	want := "-cooks is 0, which -cooks must not be, with -name x (cooks is from " + path + ":2)\n-wait-for is 2s (wait-for is from KITCHEN_WAIT_FOR)\nno-wait-for"
	if got.Error() != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestHelpIsAskedFor(t *testing.T) {
	if _, _, err := newKitchen().Load([]string{"-cooks", "3", "-help"}, nil); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-help: %v, want ErrHelp", err)
	}
}

// FuzzFile wants of any file that each problem names its line, that no secret is
// printed, and that what is printed gives the same settings again.
func FuzzFile(f *testing.F) {
	for _, text := range []string{
		"kitchen:\n  name: Ann's\n  cooks: 3\n  level: warn\ntimes: {fast: true, wait-for: 3s}\n",
		"kitchen:\n  name: \"a: b # c\\n\\u2028\"\n  secret: sesame\n", "kitchen: {name: 'null', mode: ~}", "times:\n  wait-for: 10\n  wait-for: 1s\n",
		"Kitchen:\n  cooks: x\n", "a: &a [*a]\n<<: *a\n? {b: c}\n: d\n", "%YAML 1.1\n---\nkitchen: !!binary gg==\n", "kitchen:\n  name: -\n  mode: |\n    a\n    b\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		k := newKitchen()
		problems, err := k.readText("file", text)
		for _, p := range append(problems, err) {
			if p != nil && !strings.HasPrefix(p.Error(), "file:") {
				t.Errorf("%q: problem %q names no line", text, p)
			}
		}
		var printed strings.Builder
		if err := k.Print(&printed); err != nil {
			t.Fatal(err)
		}
		again := newKitchen()
		problems, err = again.readText("file", []byte(printed.String()))
		if len(problems) > 0 || err != nil {
			t.Fatalf("%q is printed as\n%s\nwhich has the problems %v %v", text, &printed, problems, err)
		}
		if again.secret != "" {
			t.Errorf("%q is printed with its secret:\n%s", text, &printed)
		}
		if got, want := again.summary(), k.summary(); got != want {
			t.Errorf("%q gives %s; it is printed as\n%s\nand this gives %s", text, want, &printed, got)
		}
	})
}

// summary is all that is not secret.
func (k *kitchen) summary() string {
	return fmt.Sprintf("%q %q %t %d %v %v, given %t %t", k.name, k.mode, k.fast, k.cooks, k.level, k.wait, k.Given("name"), k.Given("wait-for"))
}
