package sbr

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Strategy
		err  string
	}{
		{"keep-majority", KeepMajority{}, ""},
		{"static-quorum:3", StaticQuorum{Size: 3}, ""},
		{"keep-oldest", KeepOldest{}, ""},
		{"keep-oldest:down-if-alone", KeepOldest{DownIfAlone: true}, ""},
		{"lease-majority", LeaseMajority{AcquireDelay: 2 * time.Second}, ""},
		{"lease-majority:500ms", LeaseMajority{AcquireDelay: 500 * time.Millisecond}, ""},
		{"down-all", DownAll{}, ""},
		{"static-quorum", nil, "how many nodes"},
		{"static-quorum:0", nil, "how many nodes"},
		{"lease-majority:2h", nil, "for how long"},
		{"keep-majority:3", nil, "no strategy"},
		{"keep-oldest:alone", nil, "no strategy"},
		{"", nil, "no strategy"},
	} {
		got, err := Parse(tt.text)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %#v, %v; want %#v, %q", tt.text, got, err, tt.want, tt.err)
		}
	}
}
