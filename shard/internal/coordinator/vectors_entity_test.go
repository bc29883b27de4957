package coordinator

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/shard/internal/entity"
)

// The kinds of the file that are about entities; they are here because a file of
// known answers has one test.

type transitionInput struct {
	Remember bool   `json:"remember_entities"`
	From     string `json:"from"`
	To       string `json:"to"`
}

type transitionWant struct {
	Allowed bool `json:"allowed"`
}

func checkTransition(t *testing.T, in transitionInput, want transitionWant) {
	if got := entityState(t, in.From).MayBecome(entityState(t, in.To), in.Remember); got != want.Allowed {
		t.Errorf("allowed: %t, want %t", got, want.Allowed)
	}
}

func entityState(t *testing.T, name string) entity.State {
	t.Helper()
	for s := entity.None; s <= entity.WaitingForRestart; s++ {
		if s.String() == name {
			return s
		}
	}
	t.Fatalf("unknown state %q", name)
	return 0
}

type starterInput struct {
	Shard     string   `json:"shard"`
	IDs       []string `json:"ids"`
	Batch     *int     `json:"batch"`
	Frequency int      `json:"frequency_ms"`
	Retry     int      `json:"retry_ms"`
	Until     int      `json:"until_ms"`
	Inputs    []struct {
		At    int    `json:"at_ms"`
		Type  string `json:"type"`
		ID    string `json:"id"`
		Shard string `json:"shard"`
	} `json:"inputs"`
}

type starterWant struct {
	Sent     [][2]any `json:"sent"` // when, and the ids
	Moved    []string `json:"moved"`
	Finished *int     `json:"finished_at"`
}

func checkStarter(t *testing.T, in starterInput, want starterWant) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	began := time.Unix(0, 0)
	s := entity.NewStarter[string](entity.Pace{Batch: valueOr(in.Batch, 0), Every: ms(in.Frequency), Retry: ms(in.Retry)})
	for _, id := range in.IDs {
		s.Add(id)
	}
	sent, finished := [][2]any{}, -1
	for now := 0; now <= in.Until; now++ {
		for len(in.Inputs) > 0 && in.Inputs[0].At == now {
			ack := in.Inputs[0]
			in.Inputs = in.Inputs[1:]
			if ack.Type != "ack" {
				t.Fatalf("unknown input %q", ack.Type)
			}
			s.Acked(ack.ID, ack.Shard == in.Shard)
		}
		if s.Done() {
			finished = now
			break
		}
		if ids := s.Step(began.Add(ms(now))); len(ids) > 0 {
			slices.Sort(ids)
			sent = append(sent, [2]any{float64(now), anys(ids)})
		}
	}
	if !reflect.DeepEqual(sent, want.Sent) {
		t.Errorf("sent %v, want %v", sent, want.Sent)
	}
	if moved := slices.Sorted(slices.Values(s.Moved())); s.Done() != (want.Moved != nil) || !slices.Equal(moved, want.Moved) {
		t.Errorf("done %t, moved %v; want %v", s.Done(), moved, want.Moved)
	}
	if want := valueOr(want.Finished, -1); finished != want {
		t.Errorf("finished at %d, want %d", finished, want)
	}
}

// anys gives the ids as JSON has them.
func anys(ids []string) []any {
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	return list
}
