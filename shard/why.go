package shard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Why is where an entity is or should be, and what that waits for, as all nodes
// tell it that have a part in it.
type Why struct {
	Type, ID, Shard string
	At              time.Time // of the question; all times are by the clock of the node asked
	Home            troupe.ID // where the shard lives by the best account; zero: nowhere that is known
	Accounts        []Account // first that of the node asked, then of who decides, then of the host
	Problem         string    // with the id itself; then there is nothing else
}

// Account is what one node tells of a shard.
type Account struct {
	Node  troupe.ID
	Part  string        // "asked", "decides" or "hosts": the first that is true
	State string        // how the shard stands there, in plain words
	Waits []troupe.Wait // causes before what they cause; empty when it waits for nothing there
	Err   error         // it gave no account; nil if it did
}

// account is one as it travels and is put together.
type account struct {
	State    string
	Home     troupe.ID // zero while it is unknown or moving
	Deciders []troupe.ID
	Waits    []agedWait
}

// An agedWait is a wait whose times are counted from when it was told, so that no
// clock is compared with another. Zero is not known, or none.
type agedWait struct {
	Wait      troupe.Wait
	For, Left time.Duration
}

func aged(w troupe.Wait, now time.Time) agedWait {
	a := agedWait{Wait: w}
	if !w.Since.IsZero() {
		a.For = max(1, now.Sub(w.Since))
	}
	if !w.Until.IsZero() {
		a.Left = cmp.Or(w.Until.Sub(now), 1)
	}
	a.Wait.Since, a.Wait.Until = time.Time{}, time.Time{}
	return a
}

func (a agedWait) at(now time.Time) troupe.Wait {
	w := a.Wait
	if a.For != 0 {
		w.Since = now.Add(-a.For)
	}
	if a.Left != 0 {
		w.Until = now.Add(a.Left)
	}
	return w
}

// account is what this node knows of a shard.
func (r *shell[M]) account(shard string) account {
	s, ok := r.slotNamed(shard)
	if !ok {
		return account{State: fmt.Sprintf("there is no shard %q of %d here", shard, r.typ.Shards)}
	}
	a := account{State: s.describe()}
	a.Home, _ = regionOf[M]{r}.Home(shard)
	ran := r.control.ask(func(now time.Time) {
		for _, w := range r.control.misfit() {
			a.Waits = append(a.Waits, aged(w.Wait, now))
		}
		for _, w := range slices.Concat(r.control.region.Why(shard), r.control.authority.why(shard), s.waits()) {
			a.Waits = append(a.Waits, aged(w, now))
		}
		a.Deciders = r.control.authority.deciders(shard)
	})
	if !ran {
		a.State += "; this node has ended"
	}
	return a
}

// Why implements [Region].
func (r *shell[M]) Why(ctx context.Context, id string) Why {
	w := Why{Type: r.typ.Name, ID: id, At: time.Now()}
	s, err := r.slotOf(id)
	if err != nil {
		w.Problem = err.Error()
		return w
	}
	w.Shard = s.shard
	own := r.account(s.shard)
	w.add(r.self, "asked", own, nil)
	home := own.Home
	for _, decider := range own.Deciders {
		if decider == r.self {
			continue
		}
		told, err := r.inquireAccount(ctx, decider, s.shard)
		w.add(decider, "decides", told, err)
		if err == nil && !told.Home.IsZero() {
			home = told.Home
		}
	}
	w.Home = home
	known := slices.ContainsFunc(w.Accounts, func(a Account) bool { return a.Node == home })
	if !home.IsZero() && !known {
		told, err := r.inquireAccount(ctx, home, s.shard)
		w.add(home, "hosts", told, err)
	}
	return w
}

func (r *shell[M]) inquireAccount(ctx context.Context, at troupe.ID, shard string) (account, error) {
	o := r.node.office()
	if o == nil {
		return account{}, errNoOffice
	}
	return inquire(ctx, o, at, askAccount{Type: r.typ.Name, Shard: shard})
}

func (w *Why) add(node troupe.ID, part string, a account, err error) {
	now := time.Now()
	told := Account{Node: node, Part: part, State: a.State, Err: err}
	for _, wait := range a.Waits {
		told.Waits = append(told.Waits, wait.at(now))
	}
	w.Accounts = append(w.Accounts, told)
}

// String tells it in plain words, several lines.
func (w Why) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s", w.Type, w.ID)
	switch {
	case w.Problem != "":
		fmt.Fprintf(&b, ": %s\n", w.Problem)
		return b.String()
	case w.Home.IsZero():
		fmt.Fprintf(&b, ", shard %s, has no home that is known\n", w.Shard)
	default:
		fmt.Fprintf(&b, ", shard %s, lives on %s\n", w.Shard, w.Home.Address)
	}
	for _, a := range w.Accounts {
		if a.Err != nil {
			fmt.Fprintf(&b, "\n%s (%s) gave no account: %v\n", a.Node.Address, a.Part, a.Err)
			continue
		}
		fmt.Fprintf(&b, "\n%s (%s): %s\n", a.Node.Address, a.Part, a.State)
		for _, wait := range a.Waits {
			b.WriteString(indent(wait.Text(w.At)))
		}
	}
	return b.String()
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// Health is what is wrong with the types of a node: see [Trouble]. It is empty when
// all is well.
func Health(regions []Region) []Trouble {
	var troubles []Trouble
	for _, r := range regions {
		troubles = append(troubles, r.Troubles()...)
	}
	return troubles
}

// What a Wait of a shard or a type is for.
const (
	WaitHome     = protocol.WaitHome     // a shard's home
	WaitHandOver = protocol.WaitHandOver // a step of a shard's way from one node to the next
	WaitEnd      = protocol.WaitEnd      // the end of a shard's entities, so that it can move
	WaitDecider  = protocol.WaitDecider  // somebody who decides where the type's shards live
)
