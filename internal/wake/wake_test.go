package wake

import (
	"slices"
	"testing"
)

func awake(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestListWakesOnceForAll(t *testing.T) {
	l := NewList[int]()
	if awake(l.Ready()) {
		t.Error("awake for nothing")
	}
	l.Add(1)
	l.Add(2)
	if !awake(l.Ready()) || awake(l.Ready()) {
		t.Error("want to be woken once for two values")
	}
	if got, want := l.Take(), []int{1, 2}; !slices.Equal(got, want) {
		t.Errorf("took %v, want %v", got, want)
	}
	l.Signal()
	if !awake(l.Ready()) || len(l.Take()) != 0 {
		t.Error("want to be woken, and nothing to take")
	}
}

func TestLatestLeavesOutWhatNobodySaw(t *testing.T) {
	l := NewLatest[int]()
	if l.Load() != nil || awake(l.Changed()) {
		t.Error("want no value at first")
	}
	one, two := 1, 2
	l.Set(&one)
	l.Set(&two)
	if !awake(l.Changed()) || awake(l.Changed()) || l.Load() != &two {
		t.Error("want to be woken once, for the second value")
	}
}
