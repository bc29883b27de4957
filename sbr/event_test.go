package sbr

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// transcript drives a resolver through views, letting time pass from wake to
// wake between them, and keeps what it tells: seconds and the line.
type transcript struct {
	r     *Resolver
	now   time.Time
	wake  time.Time
	lines []string
	downs []member.ID
}

func newTranscript(self int, s Settings) *transcript {
	return &transcript{r: NewResolver(nodeID(self), "default", s), now: epoch}
}

func (x *transcript) take(now time.Time, out Output) {
	x.now, x.wake = now, out.Wake
	x.downs = append(x.downs, out.Down...)
	for _, e := range out.Events {
		x.lines = append(x.lines, now.Sub(epoch).String()+" "+e.String())
	}
}

// until lets time pass, and then steps an input.
func (x *transcript) until(seconds float64, in Input) {
	for !x.wake.IsZero() && x.wake.Before(at(seconds)) {
		x.take(x.wake, x.r.Step(x.wake, Tick{}))
	}
	x.take(at(seconds), x.r.Step(at(seconds), in))
}

func (x *transcript) check(t *testing.T, want string, downs ...member.ID) {
	t.Helper()
	if got := strings.Join(x.lines, "\n") + "\n"; got != want {
		t.Errorf("told\n%swant\n%s", got, want)
	}
	if !slices.Equal(x.downs, downs) {
		t.Errorf("downed %v, want %v", x.downs, downs)
	}
}

func TestDecisionIsToldInPlainWords(t *testing.T) {
	x := newTranscript(0, Settings{})
	x.until(0, ViewChanged{viewOf(0, 5)})
	x.until(1, ViewChanged{viewOf(0, 5, 3)})
	both := viewOf(0, 5, 3, 4)
	both.Observations = append(both.Observations, member.Observation{Observer: nodeID(1), Subject: nodeID(3)}, member.Observation{Observer: nodeID(1), Subject: nodeID(4)})
	x.until(1.5, ViewChanged{both})
	x.until(9, Tick{})
	x.check(t, `2s unreachable: d:1, e:1, seen so by a:1, b:1; a:1 decides in 6.5s by keep-majority; as things stand, this side survives and downs d:1, e:1
8.5s keep-majority, after 7.5s: this side survives and downs d:1, e:1, because 3 of the members that count are on this side and 2 on the other; unreachable: d:1, e:1, seen so by a:1, b:1
`, nodeID(3), nodeID(4))
}

func TestWhoComesBackIsTold(t *testing.T) {
	x := newTranscript(0, Settings{})
	x.until(0, ViewChanged{viewOf(0, 3)})
	x.until(1, ViewChanged{viewOf(0, 3, 2)})
	x.until(4, ViewChanged{viewOf(0, 3)})
	x.until(5, ViewChanged{viewOf(0, 3, 1)}) // no news for less than a second
	x.until(5.5, ViewChanged{viewOf(0, 3)})
	x.until(60, Tick{})
	x.check(t, `2s unreachable: c:1, seen so by a:1; a:1 decides in 6s by keep-majority; as things stand, this side survives and downs c:1
4s c:1 came back after 3s and was not downed
`)
}

// A member that flaps is named every ten seconds at most.
func TestNoticesAreFew(t *testing.T) {
	x := newTranscript(1, Settings{DownAllWhenUnstable: -1}) // not the leader
	led := func(unreachable ...int) ViewChanged {
		v := viewOf(1, 3, unreachable...)
		v.Leader = nodeID(0)
		return ViewChanged{v}
	}
	x.until(0, led())
	for i := range 60 {
		if i%4 < 2 {
			x.until(float64(i+1), led(2))
		} else {
			x.until(float64(i+1), led())
		}
	}
	noticed := 0
	for _, line := range x.lines {
		if strings.Contains(line, "unreachable:") {
			noticed++
		}
	}
	if noticed < 2 || noticed > 7 {
		t.Errorf("noticed %d times in a minute, want 2 to 7\n%s", noticed, strings.Join(x.lines, "\n"))
	}
}

func TestDryRunTellsAndDownsNobody(t *testing.T) {
	x := newTranscript(0, Settings{DryRun: true, Strategy: LeaseMajority{}})
	x.until(0, ViewChanged{viewOf(0, 3)})
	x.until(1, ViewChanged{viewOf(0, 3, 2)})
	x.until(60, Seen{By: []member.ID{nodeID(0)}}) // no reason to say it again
	x.until(90, ViewChanged{viewOf(0, 3, 1, 2)})
	if waits := x.r.Waits(); len(waits) != 1 || waits[0].Until.IsZero() || len(waits[0].On) != 2 {
		t.Errorf("waits %+v, want one for two members with an end", waits)
	}
	x.until(120, Tick{})
	if waits := x.r.Waits(); len(waits) != 1 || waits[0].Act == "" || !waits[0].Since.Equal(at(1)) {
		t.Errorf("after a dry run waits %+v, want one that somebody must end", waits)
	}
	x.until(121, ViewChanged{viewOf(0, 3)})
	x.check(t, `2s unreachable: c:1, seen so by a:1; a:1 decides in 6s by lease-majority; as things stand, this side asks for the lease after 0s; with it, it downs c:1, without it a:1, b:1
8s lease-majority, after 7s, dry run (nobody is downed): this side asks for the lease after 0s; with it, it downs c:1, without it a:1, b:1, because the side with the lease survives; unreachable: c:1, seen so by a:1
1m30s unreachable: b:1, c:1, seen so by a:1; a:1 decides in 7s by lease-majority; as things stand, this side asks for the lease after 0s; with it, it downs b:1, c:1, without it a:1
1m37s lease-majority, after 1m36s, dry run (nobody is downed): this side asks for the lease after 0s; with it, it downs b:1, c:1, without it a:1, because the side with the lease survives; this one, with 1 against 2 members that count, lets the other one go first; unreachable: b:1, c:1, seen so by a:1
2m1s b:1, c:1 came back after 2m0s and was not downed
`)
	if waits := x.r.Waits(); len(waits) != 0 {
		t.Errorf("all came back, and yet waits %+v", waits)
	}
}

// The answer to a question that nobody asks any more: all came back meanwhile.
func TestLeaseThatIsNotWantedIsGivenBack(t *testing.T) {
	for _, granted := range []bool{true, false} {
		x := newTranscript(0, Settings{Strategy: LeaseMajority{}})
		x.until(0, ViewChanged{viewOf(0, 3)})
		x.until(1, ViewChanged{viewOf(0, 3, 2)})
		x.until(9, Tick{})
		x.until(9.5, ViewChanged{viewOf(0, 3)})
		if out := x.r.Step(at(10), LeaseReply{Acquired: granted}); out.Release != granted || len(out.Down) > 0 {
			t.Errorf("granted %v: release %v, down %v", granted, out.Release, out.Down)
		}
	}
}

func TestLeaseDecisionIsToldTwice(t *testing.T) {
	x := newTranscript(1, Settings{Strategy: LeaseMajority{AcquireDelay: 2 * time.Second}})
	x.until(0, ViewChanged{viewOf(1, 3)})
	x.until(1, ViewChanged{viewOf(1, 3, 0, 2)})
	x.until(9, LeaseReply{Acquired: false})
	x.check(t, `2s unreachable: a:1, c:1, seen so by b:1; b:1 decides in 6s by lease-majority; as things stand, this side asks for the lease after 2s; with it, it downs a:1, c:1, without it b:1
8s lease-majority, after 7s: this side asks for the lease after 2s; with it, it downs a:1, c:1, without it b:1, because the side with the lease survives; this one, with 1 against 2 members that count, lets the other one go first; unreachable: a:1, c:1, seen so by b:1
9s lease-majority, after 8s: this side goes: it downs b:1, because another side has the lease, or this one could not make sure of it; unreachable: a:1, c:1, seen so by b:1
`, nodeID(1))
}

// A line stays readable, however many it is about.
func TestLinesAreBounded(t *testing.T) {
	in := Situation{Self: nodeID(0)}
	for i := range 200 {
		id := member.ID{Address: member.Address{Host: "node", Port: i + 1}, UID: 1}
		in.Members = append(in.Members, member.Member{ID: id, Status: member.Up, UpNumber: i})
		if i >= 100 {
			in.Unreachable = append(in.Unreachable, id)
			in.Observations = append(in.Observations, member.Observation{Observer: in.Members[i-100].ID, Subject: id})
		}
	}
	if line := Decide(KeepMajority{}, in).String(); len(line) > 1000 {
		t.Errorf("%d bytes: %s", len(line), line)
	}
}

func TestSettingsThatCannotBeMeant(t *testing.T) {
	for _, tt := range []struct {
		settings Settings
		want     string // in the error; empty: fine
	}{
		{Settings{}, ""},
		{Settings{StableAfter: -1, DownAllWhenUnstable: -1, DryRun: true}, ""},
		{Settings{Strategy: StaticQuorum{}}, "Size is 0"},
		{Settings{Strategy: LeaseMajority{AcquireDelay: -1}}, "AcquireDelay is -1ns"},
		{Settings{Strategy: LeaseMajority{AcquireDelay: time.Hour}}, "AcquireDelay is 1h"},
		{Settings{Strategy: LeaseMajority{}, DownAllWhenUnstable: -1}, "DownAllWhenUnstable is off"},
		{Settings{Strategy: KeepOldest{Role: "dc-x"}}, `Role "dc-x"`},
		{Settings{StableAfter: 2 * time.Hour}, "StableAfter is 2h"},
		{Settings{DownAllWhenUnstable: 2 * time.Hour}, "DownAllWhenUnstable is 2h"},
	} {
		err := tt.settings.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.settings, err, tt.want)
		}
	}
}

// A side that is denied the lease is gone before the other one takes over what it
// had, and cannot get the lease after the other one had it.
func TestTimesOfTheLease(t *testing.T) {
	s := Settings{Strategy: LeaseMajority{AcquireDelay: 2 * time.Second}}
	for _, n := range []int{2, 5, 10, 100, 1000} {
		patience, _ := s.unstableAfter(n)
		if last := patience + 2*time.Second + AskWithin; s.LeaseTime(n) <= last {
			t.Errorf("%d members: the lease lasts %v, and may be asked for after %v", n, s.LeaseTime(n), last)
		}
		if want := StableAfter(n) + 2*time.Second + AskWithin; s.Margin(n) != want {
			t.Errorf("%d members: margin %v, want %v", n, s.Margin(n), want)
		}
	}
	if got := (Settings{}).Margin(5); got != 7*time.Second {
		t.Errorf("without a lease: margin %v, want 7s", got)
	}
}
