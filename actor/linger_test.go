package actor

import "testing"

func TestLingeringIsLearned(t *testing.T) {
	var l lingering
	tried := 0
	for range 4 * probe {
		if l.pays() {
			tried++
			l.paid(false)
		}
	}
	if tried != 4 {
		t.Errorf("lingered %d of %d times while nothing came, want 4", tried, 4*probe)
	}
	for !l.pays() {
	}
	l.paid(true)
	for i := range 2 * probe {
		if !l.pays() {
			t.Fatalf("gave up lingering at wait %d, though it paid", i)
		}
		l.paid(true)
	}
	l.pays()
	l.paid(false)
	if l.pays() && l.waits%probe != 0 {
		t.Error("went on lingering after nothing had come")
	}
}
