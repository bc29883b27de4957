package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/sbr"
)

// TestOPS02CommandLines runs each command of testdata/refused.txt, none of which
// may start anything.
func TestOPS02CommandLines(t *testing.T) { runScript(t, "testdata/refused.txt", exitUsage) }

// TestOPS02SettingsArePrinted runs each command of testdata/printed.txt, none of
// which may start anything either.
func TestOPS02SettingsArePrinted(t *testing.T) { runScript(t, "testdata/printed.txt", exitOK) }

var update = flag.Bool("update", false, "write the output of the commands in testdata instead of comparing it")

// runScript runs the commands of a file: one after "$", then its exact output, then
// an empty line. Variables may stand before the command.
func runScript(t *testing.T, file string, want int) {
	t.Helper()
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var played []string
	for part := range strings.SplitSeq(strings.TrimSuffix(string(script), "\n"), "\n\n") {
		command, output, _ := strings.Cut(part, "\n")
		before, args, ok := strings.Cut(command, "dadbot ")
		if !ok || !strings.HasPrefix(before, "$ ") {
			t.Fatalf("%s: %q is no command", file, command)
		}
		code, got := runWith(t, strings.Fields(before)[1:], strings.Fields(args))
		if code != want || got != output && !*update {
			t.Errorf("%s exits %d and says\n%s\nwant %d and\n%s", command, code, got, want, output)
		}
		played = append(played, command+"\n"+got)
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(played, "\n\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// runWith runs a command with variables of the form NAME=text. What a command that
// does not start says is on one of stdout and stderr only.
func runWith(t *testing.T, variables, args []string) (code int, output string) {
	t.Helper()
	for _, v := range variables {
		name, text, _ := strings.Cut(v, "=")
		t.Setenv(name, text)
		defer os.Unsetenv(name)
	}
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, &stdout, &stderr)
	if stdout.Len() > 0 && stderr.Len() > 0 {
		t.Errorf("%v %v writes to stdout\n%s\nand to stderr\n%s", variables, args, &stdout, &stderr)
	}
	return code, strings.TrimSuffix(stdout.String()+stderr.String(), "\n")
}

func TestHelp(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-h", "dadbot node I"},
		{"-help", "-style"},
		{"help", "dadbot node I"},
		{"help node", "-acceptable-pause"},
		{"node help", "-acceptable-pause"},
		{"node 3 help", "127.0.0.1:8083"},
		{"node -h", "-acceptable-pause"},
		{"node -help", "-acceptable-pause"},
		{"node 3 -h", "127.0.0.1:8083"},
		{"node 3 --help", "default 127.0.0.1:25520,127.0.0.1:25521,127.0.0.1:25522"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(tt.args), &stdout, &stderr)
		if text := strings.ReplaceAll(stdout.String(), `"`, ""); code != exitOK || !strings.Contains(text, tt.want) || stderr.Len() > 0 {
			t.Errorf("dadbot %s exits %d and says\n%s%s\nwant 0 and …%s…", tt.args, code, &stdout, &stderr, tt.want)
		}
	}
}

func TestDefaultsOfANode(t *testing.T) {
	o, err := parseNode([]string{"7"}, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	c := o.house.Cluster
	for _, tt := range []struct{ what, got, want string }{
		{"name", o.house.Name, "node-7"},
		{"-http", o.http, "127.0.0.1:8087"},
		{"-manage", o.manage, "127.0.0.1:8558"},
		{"-listen", c.Listen, "127.0.0.1:25527"},
		{"-seeds", strings.Join(c.Seeds, " "), "127.0.0.1:25520 127.0.0.1:25521 127.0.0.1:25522"},
		{"-role", strings.Join(c.Roles, " "), "edge dad"},
		{"-placement", string(o.house.Placement), "coordinator"},
		{"-style", string(o.house.Style), "states"},
		{"-audit", o.audit, ""},
		{"-quiet", o.house.Dad.Quiet.String(), "2.5s"},
		{"-think", o.house.Dad.Think.String(), "2s"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s of node 7 is %q, want %q", tt.what, tt.got, tt.want)
		}
	}
	if o.house.Shards != 0 {
		t.Errorf("-shards is %d, want 0 for the default of the placement", o.house.Shards)
	}
}

func TestFlagsOfANode(t *testing.T) {
	o, err := parseNode(strings.Fields("1 -http :8080 -manage [::1]:8551 -listen 127.0.0.1:9 -seeds 127.0.0.1:8 --role edge -style=loop -shards 10 "+
		"-downing static-quorum:2 -gossip 200ms -heartbeat 300ms -acceptable-pause 1s -stable-after 2s -seed-timeout 4s"), new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	c := o.house.Cluster
	if c.Listen != "127.0.0.1:9" || len(c.Seeds) != 1 || len(c.Roles) != 1 || c.Roles[0] != "edge" || o.house.Style != "loop" || o.house.Shards != 10 {
		t.Errorf("got %+v", o)
	}
	if c.Downing.Strategy != (sbr.StaticQuorum{Size: 2}) || c.Downing.StableAfter != 2*time.Second {
		t.Errorf("downing is %+v, want static-quorum:2 after 2s", c.Downing)
	}
	if tm := c.Times; tm.Gossip != 200*time.Millisecond || tm.Heartbeat != 300*time.Millisecond || tm.AcceptablePause != time.Second || tm.SeedTimeout != 4*time.Second {
		t.Errorf("times are %+v", tm)
	}
}

func TestSeedsThatAreContacts(t *testing.T) {
	for _, tt := range []struct{ flags, want string }{
		{"-seeds dns:dads.default.svc:2552 -required-contacts 2", "dns:dads.default.svc:2552"},
		{"-seeds srv:_dad._tcp.example -required-contacts 2", "srv:_dad._tcp.example"},
		{"-seeds 127.0.0.1:8,127.0.0.1:9 -required-contacts 2", "list 127.0.0.1:8,127.0.0.1:9"},
		{"-seeds 127.0.0.1:8", "<nil>"},
	} {
		o, err := parseNode(append([]string{"3"}, strings.Fields(tt.flags)...), new(bytes.Buffer))
		c := o.house.Cluster
		if got := fmt.Sprint(c.Contacts); err != nil || got != tt.want || (c.Contacts != nil) != (len(c.Seeds) == 0) {
			t.Errorf("%s: contacts %s, seeds %v, %v; want contacts %s", tt.flags, got, c.Seeds, err, tt.want)
		}
	}
}
