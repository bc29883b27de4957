package actor

import (
	"slices"
	"testing"
)

func TestRunQueueOrder(t *testing.T) {
	var q runQueue
	for _, name := range []string{"a", "b", "c"} {
		q.push(&core{name: name})
		q.push(&core{name: name + "'s child", child: true})
	}
	var got []string
	for c := q.pop(); c != nil; c = q.pop() {
		got = append(got, c.name)
	}
	// The first turn is the oldest child's.
	want := []string{"a's child", "a", "c's child", "b", "b's child", "c"}
	if !slices.Equal(got, want) || !q.empty() {
		t.Errorf("got %q, want %q and nothing more", got, want)
	}
}

// Neither a stream of new children nor one of others keeps anyone waiting for ever.
func TestRunQueueServesAll(t *testing.T) {
	const patience = 3000
	for _, child := range []bool{false, true} {
		var q runQueue
		for range 10 {
			q.push(&core{child: true})
			q.push(&core{})
		}
		last := &core{child: child}
		q.push(last)
		turns := 0
		for c := q.pop(); c != last; c = q.pop() {
			if turns++; turns == patience {
				t.Errorf("child %v: not served within %d turns", child, turns)
				break
			}
			q.push(&core{child: true})
			c.child = false
			q.push(c)
		}
	}
}
