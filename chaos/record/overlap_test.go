package record

import (
	"slices"
	"testing"
	"time"
)

func answer(at time.Duration, node int, entity, life string) Event {
	return Event{At: at, Node: node, Kind: Answered, Entity: entity, Life: life}
}

func TestOverlaps(t *testing.T) {
	tests := []struct {
		name   string
		events []Event
		want   []Overlap
	}{
		{"one after the other", []Event{
			answer(1, 1, "e", "a"), answer(5, 1, "e", "a"), answer(6, 2, "e", "b"), answer(9, 2, "e", "b"),
		}, nil},
		{"two entities do not meet", []Event{
			answer(1, 1, "e", "a"), answer(9, 1, "e", "a"), answer(2, 2, "f", "b"), answer(3, 2, "f", "b"),
		}, nil},
		{"the old one answers again when it wakes", []Event{
			answer(1, 1, "e", "a"), answer(4, 2, "e", "b"), answer(6, 2, "e", "b"), answer(7, 1, "e", "a"),
		}, []Overlap{{"e", 1, 2, 4, 2}}},
		{"an instant is enough", []Event{
			answer(1, 1, "e", "a"), answer(4, 1, "e", "a"), answer(4, 2, "e", "b"),
		}, []Overlap{{"e", 1, 2, 4, 0}}},
		{"a long life meets two, told in any order", []Event{
			answer(7, 3, "e", "c"), answer(9, 1, "e", "a"), answer(3, 2, "e", "b"), answer(1, 1, "e", "a"),
		}, []Overlap{{"e", 1, 2, 3, 0}, {"e", 1, 3, 7, 0}}},
		{"two incarnations on one node", []Event{
			answer(1, 1, "e", "a"), answer(5, 1, "e", "a"), answer(3, 1, "e", "b"), answer(8, 1, "e", "b"),
		}, []Overlap{{"e", 1, 1, 3, 2}}},
	}
	for _, tt := range tests {
		if got := Overlaps(tt.events); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestGap(t *testing.T) {
	events := []Event{answer(1, 1, "e", "a"), answer(10, 1, "e", "a"), answer(14, 2, "e", "b"), answer(12, 3, "f", "c")}
	if got := Gap(events, 5); got != 7 {
		t.Errorf("gap from 5 on: got %v, want 7 ns, until f was answered for", got)
	}
	if got := Gap(events, 15); got != 0 {
		t.Errorf("gap from 15 on: got %v, want none", got)
	}
}
