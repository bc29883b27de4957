// Package wiretest helps to test protocols and codecs.
//
// [Golden] keeps the schema of a protocol in a file beside the test, so that a
// change which older nodes would not understand is seen in review and fails
// until it is recorded. [Codec] checks a user's own codec.
package wiretest

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The name has a prefix because many test packages have an -update of their own.
var update = flag.Bool("wire.update", false, "write the schema of protocols into their golden files")

// Golden compares the schema of p, a *wire.Protocol, with the one in the file
// path, and fails with what changed: gone lines are what nodes of the recorded
// version depend on. With -wire.update it writes the file instead.
//
//	func TestProtocol(t *testing.T) {
//		wiretest.Golden(t, "testdata/protocol.txt", Protocol)
//	}
func Golden(t testing.TB, path string, p interface{ Schema() string }) {
	t.Helper()
	if *update {
		if err := write(path, p.Schema()); err != nil {
			t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("no schema is recorded in %s: run go test -wire.update and commit the file", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	gone, added := diff(string(recorded), p.Schema())
	switch {
	case len(gone) > 0:
		t.Errorf("the protocol is not compatible with the one recorded in %s.\n"+
			"Gone, though nodes of that version send and expect it:\n%sNew:\n%s"+
			"Give what changed a new name, or, if no such node runs any more, run go test -wire.update.",
			path, list(gone), list(added))
	case len(added) > 0:
		t.Errorf("the protocol has grown since it was recorded in %s:\n%s"+
			"Nodes of that version skip what they do not know. Run go test -wire.update and commit the file.",
			path, list(added))
	}
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// diff compares two schemas by line, each line under its heading.
func diff(old, now string) (gone, added []string) {
	before, after := qualified(old), qualified(now)
	return without(before, after), without(after, before)
}

// qualified puts its heading before each indented line.
func qualified(schema string) []string {
	var lines []string
	heading := ""
	for line := range strings.Lines(schema) {
		line = strings.TrimRight(line, "\n")
		if field, ok := strings.CutPrefix(line, "\t"); ok {
			line = heading + ": " + field
		} else {
			heading = line
		}
		lines = append(lines, line)
	}
	return lines
}

func without(lines, others []string) []string {
	has := make(map[string]bool, len(others))
	for _, line := range others {
		has[line] = true
	}
	var rest []string
	for _, line := range lines {
		if !has[line] {
			rest = append(rest, line)
		}
	}
	return rest
}

func list(lines []string) string {
	if len(lines) == 0 {
		return "\t(nothing)\n"
	}
	return "\t" + strings.Join(lines, "\n\t") + "\n"
}
