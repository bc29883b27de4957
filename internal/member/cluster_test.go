package member

import "testing"

func TestClusterIDReadsAsWritten(t *testing.T) {
	for _, id := range []ClusterID{1, 0xabc, 1 << 63, 1<<64 - 1} {
		if got, err := ParseClusterID(id.String()); err != nil || got != id {
			t.Errorf("%d is %q, which reads as %d, %v", uint64(id), id, uint64(got), err)
		}
	}
	for _, s := range []string{"", "none", "0000000000000000", "abc", "000000000000000A", "0000000000000000a", "+00000000000000a"} {
		if got, err := ParseClusterID(s); err == nil {
			t.Errorf("%q reads as %v, want an error", s, got)
		}
	}
}
