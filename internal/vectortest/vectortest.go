// Package vectortest runs the known-answer cases of testdata/vectors: one
// test a file, every case of it, strictly decoded.
//
// The folder is the one in TROUPE_VECTORS, or testdata/vectors of this module.
// A kind that is not built yet is declared as open and counted in the log line
//
//	vectors FILE: N cases, M open
//
// A kind that is neither built nor declared, a field that nobody reads and a
// file without cases fail the test.
package vectortest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A Check runs one case: it reads the whole input and compares with the whole
// want, both by [Decode]; it reports through t.
type Check func(t *testing.T, input, want json.RawMessage)

// Kind makes a Check of a function on decoded values. Unknown fields fail.
func Kind[I, W any](check func(t *testing.T, in I, want W)) Check {
	return func(t *testing.T, input, want json.RawMessage) {
		t.Helper()
		var in I
		var w W
		if err := Decode(input, &in); err != nil {
			t.Fatalf("input: %v", err)
		}
		if err := Decode(want, &w); err != nil {
			t.Fatalf("want: %v", err)
		}
		check(t, in, w)
	}
}

// Decode is json.Unmarshal that refuses fields which the target does not have.
func Decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("data after the value")
	}
	return nil
}

type file struct {
	About  string     `json:"about"`
	Source string     `json:"source"`
	Cases  []testCase `json:"cases"`
}

type testCase struct {
	Name        string          `json:"name"`
	Kind        string          `json:"kind"`
	Basis       string          `json:"basis"`
	SharedCount bool            `json:"shared_counter"`
	Input       json.RawMessage `json:"input"`
	Want        json.RawMessage `json:"want"`
}

// Run runs every case of the file (name without .json). Kinds in open are
// counted, not run; a kind in a file without kinds is the empty string.
func Run(t *testing.T, name string, kinds map[string]Check, open ...string) {
	t.Helper()
	RunCases(t, name, func(kind string, _ json.RawMessage) (Check, bool) {
		check, built := kinds[kind]
		return check, built || slices.Contains(open, kind)
	})
}

// RunCases is [Run] for files whose kinds alone do not tell what is built:
// pick gives the check of a case, or nil and true for one that is open, or
// false for one that should not be there.
func RunCases(t *testing.T, name string, pick func(kind string, input json.RawMessage) (Check, bool)) {
	t.Helper()
	f, err := load(name)
	if err != nil {
		t.Fatal(err)
	}
	skipped := 0
	for _, c := range f.Cases {
		check, known := pick(c.Kind, c.Input)
		switch {
		case !known:
			t.Errorf("%s: %s: unknown kind %q", name, c.Name, c.Kind)
		case check == nil:
			skipped++
		default:
			t.Run(c.Name, func(t *testing.T) { check(t, c.Input, c.Want) })
		}
	}
	t.Logf("vectors %s: %d cases, %d open", name, len(f.Cases), skipped)
}

func load(name string) (file, error) {
	dir := os.Getenv("TROUPE_VECTORS")
	if dir == "" {
		root, err := moduleRoot()
		if err != nil {
			return file{}, err
		}
		dir = filepath.Join(root, "testdata", "vectors")
	}
	path := filepath.Join(dir, name+".json")
	data, err := os.ReadFile(path)
	if err != nil {
		return file{}, err
	}
	var f file
	if err := Decode(data, &f); err != nil {
		return file{}, fmt.Errorf("%s: %w", path, err)
	}
	if len(f.Cases) == 0 {
		return file{}, fmt.Errorf("%s: no cases", path)
	}
	return f, nil
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod above the working directory")
		}
		dir = up
	}
}
