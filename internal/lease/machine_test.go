package lease

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

var errDown = errors.New("down")

// granted is what the store answers when it counts from now.
func granted(token uint64) Answer {
	return Answer{Outcome: Granted, Token: token, Left: usual.TTL}
}

// A line of a script feeds one input, at so many milliseconds after the start,
// and says what follows: the request, the events, and what is held afterwards.
type line struct {
	at   int
	in   Input
	want string
}

func told(out Output) string {
	var parts []string
	for _, e := range out.Events {
		switch e := e.(type) {
		case Held:
			parts = append(parts, fmt.Sprint("held ", e.Token))
		case Denied:
			parts = append(parts, fmt.Sprint("denied: ", e.Cause))
		case Lost:
			parts = append(parts, fmt.Sprint("lost ", e.Token, ": ", e.Cause))
		}
	}
	if out.Do != nil {
		ask := out.Do.Op.String()
		if out.Do.Token > 0 {
			ask += fmt.Sprint(" ", out.Do.Token)
		}
		parts = append(parts, ask)
	}
	return strings.Join(parts, ", ")
}

func TestMachine(t *testing.T) {
	for _, tt := range []struct {
		name   string
		script []line
		until  int // held until then, in milliseconds; 0: not held
	}{
		{"counts from when it was sent", []line{
			{0, Want{}, "acquire"},
			{1500, granted(1), "held 1"},
			{2000, Tick{}, "renew 1"},
			{3900, granted(1), ""},
		}, 2000 + 8750},
		{"tells news at once", []line{
			{0, Want{}, "acquire"},
			{10, Touch{}, ""},
			{20, granted(1), "held 1, renew 1"},
			{30, Touch{}, ""},
			{40, granted(1), "renew 1"},
			{50, granted(1), ""},
			{60, Touch{}, "renew 1"},
			{70, Answer{Cause: errDown}, ""},
			{80, Touch{}, ""},
			{570, Tick{}, "renew 1"},
		}, 40 + 8750},
		{"another has it", []line{
			{0, Want{}, "acquire"},
			{10, Answer{Outcome: Refused, Cause: errDown}, "denied: down"},
			{9999, Tick{}, ""},
		}, 0},
		{"wants again what it has", []line{
			{0, Want{}, "acquire"},
			{10, granted(1), "held 1"},
			{20, Want{}, "held 1"},
		}, 8750},
		{"an answer that comes too late is no answer", []line{
			{0, Want{}, "acquire"},
			{8750, granted(1), "release 1"},
			{8760, Answer{Outcome: Granted}, "acquire"},
			{8770, granted(2), "held 2"},
		}, 8760 + 8750},
		{"what was granted unheard counts from what the store says is left", []line{
			{0, Want{}, "acquire"},
			{2000, Answer{Cause: errDown}, ""},
			{2500, Tick{}, "acquire"},
			{2510, Answer{Outcome: Granted, Token: 1, Left: 7500 * time.Millisecond}, "held 1, renew 1"},
		}, 2500 + 7500 - 1250},
		{"not wanted any more, perhaps granted: reads and gives back", []line{
			{0, Want{}, "acquire"},
			{1000, Drop{}, ""},
			{2000, Answer{Cause: errDown}, ""},
			{2500, Tick{}, "read"},
			{2510, granted(1), "release 1"},
			{2520, Answer{Outcome: Granted}, ""},
		}, 0},
		{"not wanted any more, not granted", []line{
			{0, Want{}, "acquire"},
			{2000, Answer{Cause: errDown}, ""},
			{2100, Drop{}, "read"},
			{2110, Answer{Outcome: Refused}, ""},
			{99999, Tick{}, ""},
		}, 0},
		{"granted when not wanted any more", []line{
			{0, Want{}, "acquire"},
			{10, Drop{}, ""},
			{20, granted(1), "release 1"},
		}, 0},
		{"wanted again while the first request is on its way", []line{
			{0, Want{}, "acquire"},
			{10, Drop{}, ""},
			{20, Want{}, ""},
			{30, granted(1), "held 1"},
		}, 8750},
		{"renewals fail: let go at the end, once, and given back", []line{
			{0, Want{}, "acquire"},
			{10, granted(1), "held 1"},
			{2000, Tick{}, "renew 1"},
			{4000, Answer{Cause: errDown}, ""},
			{4500, Tick{}, "renew 1"},
			{8750, Tick{}, "lost 1: down"},
			{9000, granted(1), "release 1"}, // a late renewal does not bring it back
			{9010, Answer{Outcome: Granted}, ""},
			{99999, Tick{}, ""},
		}, 0},
		{"the store says that it is lost", []line{
			{0, Want{}, "acquire"},
			{10, granted(1), "held 1"},
			{2000, Tick{}, "renew 1"},
			{2010, Answer{Outcome: Refused, Cause: errDown}, "lost 1: down"},
			{2020, Want{}, "acquire"},
			{2030, granted(2), "held 2"},
		}, 2020 + 8750},
		{"a process that was paused", []line{
			{0, Want{}, "acquire"},
			{10, granted(1), "held 1"},
			{60000, Want{}, "lost 1: <nil>, release 1"}, // first of all it is lost
			{60010, Answer{Outcome: Granted}, "acquire"},
			{60020, granted(3), "held 3"},
		}, 60010 + 8750},
		{"what was given up is not held again", []line{
			{0, Want{}, "acquire"},
			{10, granted(1), "held 1"},
			{20, Drop{}, "release 1"},
			{2020, Answer{Cause: errDown}, ""},
			{2030, Want{}, ""},
			{2520, Tick{}, "release 1"},
			{2530, Answer{Outcome: Granted}, "acquire"},
			{2540, granted(1), "release 1"}, // from a store that does not keep its word
			{2550, Answer{Outcome: Granted}, "acquire"},
			{2560, granted(2), "held 2"},
		}, 2550 + 8750},
		{"a store that is never back is not asked for ever", []line{
			{0, Want{}, "acquire"},
			{10, granted(1), "held 1"},
			{20, Drop{}, "release 1"},
			{2020, Answer{Cause: errDown}, ""},
			{20020, Tick{}, ""},
			{30000, Tick{}, ""},
		}, 0},
		{"granted for less than the margin", []line{
			{0, Want{}, "acquire"},
			{10, Answer{Outcome: Granted, Token: 1, Left: time.Second}, "release 1"},
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := New(usual)
			for _, l := range tt.script {
				out := m.Step(start.Add(time.Duration(l.at)*time.Millisecond), l.in)
				if got := told(out); got != l.want {
					t.Fatalf("at %d ms, %T%+v: got %q; want %q", l.at, l.in, l.in, got, l.want)
				}
			}
			_, until, held := m.Holding()
			if held != (tt.until > 0) || held && until.Sub(start) != time.Duration(tt.until)*time.Millisecond {
				t.Errorf("held %t until %v; want %d ms", held, until.Sub(start), tt.until)
			}
		})
	}
}

// FuzzMachine: no inputs, in whatever order, break the machine or have it make
// a request beside another.
func FuzzMachine(f *testing.F) {
	f.Add([]byte{0, 10, 2, 200, 3, 9, 1, 5})
	f.Add([]byte{0, 1, 6, 1, 1, 1, 3, 100, 10, 2, 0, 0})
	f.Add([]byte{0, 1, 255, 1, 2, 1, 255, 1, 2, 30, 255, 100, 255, 200})
	f.Fuzz(func(t *testing.T, script []byte) {
		m, now, open := New(usual), start, false
		for i := 0; i+1 < len(script); i += 2 {
			now = now.Add(time.Duration(script[i+1]) * 50 * time.Millisecond)
			var in Input
			switch op := script[i]; {
			case op%4 == 0:
				in = Want{}
			case op%4 == 1:
				in = Drop{}
			case op%4 == 2 && open:
				in, open = Answer{Outcome: Outcome(op / 4 % 3), Token: uint64(op / 12), Left: usual.TTL}, false
			case op%4 == 3 && op > 127:
				in = Touch{}
			default:
				in = Tick{}
			}
			out := m.Step(now, in)
			if out.Do != nil {
				if open {
					t.Fatalf("script %v, byte %d: %v beside another request", script, i, out.Do.Op)
				}
				open = true
			}
			if !out.Wake.IsZero() && !open && out.Wake.Before(now) {
				t.Fatalf("script %v, byte %d: to be woken at %v, before now", script, i, out.Wake)
			}
		}
	})
}

func BenchmarkRenew(b *testing.B) {
	b.ReportAllocs()
	m, now := New(usual), start
	m.Step(now, Want{})
	m.Step(now, granted(1))
	for b.Loop() {
		now = now.Add(usual.Renew)
		m.Step(now, Tick{})
		m.Step(now, granted(1))
	}
}
