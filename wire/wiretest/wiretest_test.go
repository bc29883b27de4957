package wiretest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/wire"
	"github.com/troupe-go/troupe/wire/wiretest"
)

// report is a testing.TB that keeps what is reported.
type report struct {
	testing.TB
	text string
}

func (*report) Helper()                             {}
func (r *report) Errorf(format string, args ...any) { r.text += fmt.Sprintf(format, args...) }
func (r *report) Fatalf(format string, args ...any) { r.text += fmt.Sprintf(format, args...); panic(r) }

// golden runs Golden on a schema and gives what it reports.
func golden(t *testing.T, path, schema string) (text string) {
	r := &report{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
		text = r.text
	}()
	wiretest.Golden(r, path, schemaText(schema))
	return r.text
}

type schemaText string

func (s schemaText) Schema() string { return string(s) }

func TestGoldenTellsWhatChanged(t *testing.T) {
	const path = "testdata/small.txt"
	recorded := "tell a cbor\n\tN int\n\tS string\ntell b json\n\tN int\n"
	tests := []struct {
		name, schema, want string
	}{
		{"same", recorded, ""},
		{"new field", strings.Replace(recorded, "\tS", "\tB bool\n\tS", 1), "has grown"},
		{"new field, named", strings.Replace(recorded, "\tS", "\tB bool\n\tS", 1), "\ttell a cbor: B bool\n"},
		{"field gone", strings.Replace(recorded, "\tS string\n", "", 1), "\ttell a cbor: S string\nNew:\n\t(nothing)\n"},
		{"type changed", strings.Replace(recorded, "json\n\tN int", "json\n\tN string", 1), "Gone, though nodes of that version send and expect it:\n\ttell b json: N int\nNew:\n\ttell b json: N string\n"},
		{"message gone", "tell b json\n\tN int\n", "\ttell a cbor\n"},
		{"codec changed", strings.Replace(recorded, "json", "cbor", 1), "not compatible"},
	}
	for _, tt := range tests {
		if got := golden(t, path, tt.schema); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: Golden reports %q; want %q in it", tt.name, got, tt.want)
		}
	}
	missing := filepath.Join(t.TempDir(), "none.txt")
	if got := golden(t, missing, recorded); !strings.Contains(got, "no schema is recorded") {
		t.Errorf("without a file Golden reports %q", got)
	}
}

func TestCodecPassesCBORAndJSON(t *testing.T) {
	type sample struct {
		N    int
		Text string
		Map  map[string][]byte
	}
	v := sample{7, "seven", map[string][]byte{"a": {1}, "b": {2}}}
	for _, c := range []wire.Codec{wire.CBOR, wire.JSON} {
		t.Run(c.Name(), func(t *testing.T) { wiretest.Codec(t, c, v, "text", []int{1, 2}, 5) })
	}
}
