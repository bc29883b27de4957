package transport

import "testing"

func TestQuarantineForgetsTheOldestOnlyAfterMany(t *testing.T) {
	var s idSet
	for uid := range int64(maxQuarantined + 10) {
		s.add(nodeID("h", 1, uid))
		s.add(nodeID("h", 1, uid))
	}
	for uid, want := range map[int64]bool{0: false, 9: false, 10: true, maxQuarantined + 9: true, maxQuarantined + 10: false} {
		if got := s.has(nodeID("h", 1, uid)); got != want {
			t.Errorf("has(%d) = %v, want %v", uid, got, want)
		}
	}
	if len(s.in) != maxQuarantined {
		t.Errorf("%d remembered, want %d", len(s.in), maxQuarantined)
	}
}
