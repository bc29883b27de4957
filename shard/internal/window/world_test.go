package window

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A world is one sender, the owners of one shard one after the other, and the
// lanes between them. What may go wrong is drawn from the seed.
type world struct {
	t    *testing.T
	rng  *rand.Rand
	seed uint64
	log  []string
	now  time.Time

	out   Out[int]
	told  int
	epoch protocol.Epoch
	owner *owner
	there []frame        // on their way to the owner
	back  []Confirmation // on their way to the sender

	crashes, torn bool // whether repeats are to be expected

	handled map[int]int // number of times, over all owners
}

type frame struct {
	n, after uint64
	item     int
	epoch    protocol.Epoch
	ask      *Question
}

// An owner has entities, each with a mailbox. A message is for entity item%3.
type owner struct {
	epoch   protocol.Epoch
	in      In
	boxes   [3][]frame
	handled map[int]bool
	last    [3]int
	acks    []uint64
	room    int
}

func newOwner(e protocol.Epoch) *owner {
	return &owner{epoch: e, handled: map[int]bool{}, last: [3]int{-1, -1, -1}, room: 1 << 30}
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 5)), seed: seed, now: time.Unix(0, 0), epoch: protocol.Epoch{Term: 1, N: 1}, handled: map[int]int{}}
	w.owner = newOwner(w.epoch)
	return w
}

func (w *world) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) fatal(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d: %s\nthe last steps: %q", w.seed, fmt.Sprintf(format, args...), w.log[max(0, len(w.log)-40):])
}

func (w *world) tell() {
	w.resend()
	n, after := w.out.Add(w.epoch, w.told)
	w.there = append(w.there, frame{n: n, after: after, item: w.told, epoch: w.epoch})
	w.told++
}

func (w *world) resend() {
	for k, after := w.out.Next(w.epoch); k != nil; k, after = w.out.Next(w.epoch) {
		w.note("again %d after %d", k.Number, after)
		w.there = append(w.there, frame{n: k.Number, after: after, item: k.Item, epoch: w.epoch})
		w.out.Sent(k)
	}
}

// arrive has the first frame reach the owner.
func (w *world) arrive() {
	if len(w.there) == 0 {
		return
	}
	f := w.there[0]
	w.there = w.there[1:]
	o := w.owner
	if f.epoch != o.epoch {
		return // by a stale route
	}
	shard := Confirmation{Shard: 7}
	switch {
	case f.ask != nil:
		if shard.Done, shard.Again = o.in.Asked(f.ask.First, f.ask.Last); shard.Again > 0 {
			shard.Epoch = o.epoch
		}
		w.back = append(w.back, shard)
		return
	default:
		switch v := o.in.Arrive(f.n, f.after); {
		case v == New && len(o.boxes[f.item%3]) >= o.room:
			o.in.Refuse(f.n)
		case v == New:
			o.boxes[f.item%3] = append(o.boxes[f.item%3], f)
		case v == Repeat && o.in.Done(f.n):
			o.acks = append(o.acks, f.n)
		case v == Gap:
			if from, tell := o.in.Missing(); tell {
				shard.Again, shard.Epoch = from, o.epoch
				w.back = append(w.back, shard)
			}
		}
	}
}

func (w *world) handle(entity int) {
	o := w.owner
	box := o.boxes[entity]
	if len(box) == 0 {
		return
	}
	f := box[0]
	o.boxes[entity] = box[1:]
	if o.handled[f.item] {
		w.fatal("%d is handled twice by one owner", f.item)
	}
	if f.item <= o.last[entity] && !w.torn {
		w.fatal("%d is handled after %d", f.item, o.last[entity])
	}
	if w.handled[f.item]++; w.handled[f.item] > 1 && !w.crashes && !w.torn {
		w.fatal("%d is handled again without a crash", f.item)
	}
	o.handled[f.item], o.last[entity] = true, f.item
	o.in.Handled(f.n)
	o.acks = append(o.acks, f.n)
}

func (w *world) confirm() {
	if len(w.owner.acks) > 0 {
		w.back = append(w.back, Confirmation{Shard: 7, Done: Compact(nil, w.owner.acks)})
		w.owner.acks = nil
	}
}

// hear has the first confirmation reach the sender, by way of its wire form.
func (w *world) hear() {
	if len(w.back) == 0 {
		return
	}
	all, err := DecodeConfirmations(AppendConfirmations(nil, w.back[:1]))
	if err != nil || len(all) != 1 {
		w.fatal("confirmation %+v decodes as %+v, %v", w.back[0], all, err)
	}
	w.back = w.back[1:]
	for _, r := range all[0].Done {
		w.out.Confirm(r, func(k *Kept[int]) bool {
			if w.handled[k.Item] == 0 {
				w.fatal("%d is confirmed and was not handled", k.Item)
			}
			return false
		})
	}
	w.out.Heard(len(all[0].Done) > 0 || all[0].Again > 0)
	if all[0].Again > 0 && all[0].Epoch == w.epoch {
		w.out.Again(all[0].Again)
	}
}

func (w *world) tick() {
	w.now = w.now.Add(250 * time.Millisecond)
	if w.out.Tick(w.now, 250*time.Millisecond, 2*time.Second) {
		if first, last, ok := w.out.Span(); ok {
			w.there = append(w.there, frame{epoch: w.epoch, ask: &Question{first, last}})
		}
	}
}

// cut loses some of what is on the way, as a link that breaks does.
func (w *world) cut() {
	if n := len(w.there); n > 0 {
		w.there = w.there[:w.rng.IntN(n)]
	}
}

// move is graceful: what is on the way arrives, what is not handled is carried. If
// the link breaks meanwhile some of that is lost.
func (w *world) move(broken bool) {
	for len(w.there) > 0 {
		w.arrive()
	}
	w.confirm()
	if broken {
		w.back = nil
	}
	old := w.owner
	w.epoch.N++
	w.owner = newOwner(w.epoch)
	heir := Heir{Upto: old.in.Upto(), Carried: old.in.Open()}
	for e, box := range old.boxes {
		for _, f := range box {
			if broken && w.rng.IntN(2) == 0 {
				w.torn = true
				continue
			}
			if w.owner.in.Carried(f.n) {
				w.owner.boxes[e] = append(w.owner.boxes[e], f)
			}
		}
	}
	w.note("move, %d carried, upto %d", heir.Carried, heir.Upto)
	if !broken || w.rng.IntN(2) == 0 {
		w.owner.in.Inherit(heir.Upto, heir.Carried)
	} else {
		w.torn = true
	}
}

func (w *world) crash() {
	w.note("crash")
	w.crashes = true
	w.there = nil
	w.epoch.N++
	w.owner = newOwner(w.epoch)
	w.out.Moved(w.epoch)
}

// heal lets all go well until nothing is left to do.
func (w *world) heal() {
	w.owner.room = 1 << 30
	for range 100 {
		w.tick()
		w.resend()
		for len(w.there) > 0 {
			w.arrive()
		}
		for e := range w.owner.boxes {
			for len(w.owner.boxes[e]) > 0 {
				w.handle(e)
			}
		}
		w.confirm()
		for len(w.back) > 0 {
			w.hear()
		}
	}
	for item := range w.told {
		if w.handled[item] == 0 {
			w.fatal("%d of %d is lost", item, w.told)
		}
	}
	if w.out.Len() != 0 || w.out.Waits() != 0 || w.owner.in.Open() != 0 {
		w.fatal("%d are kept, %d wait, %d are in hand when all is over", w.out.Len(), w.out.Waits(), w.owner.in.Open())
	}
	if n := len(w.owner.in.ahead.ranges) + len(w.owner.in.open.ranges); n > 1 {
		w.fatal("the owner still remembers %d ranges", n)
	}
}

// TestWorlds: whatever is lost, whoever moves or crashes, nothing that was told is
// lost, one owner handles nothing twice and each entity in order, and without a
// crash nothing is handled twice at all.
func TestWorlds(t *testing.T) {
	seeds := uint64(3000)
	if testing.Short() {
		seeds = 300
	}
	for seed := range seeds {
		w := newWorld(t, seed)
		// Which faults there are at all differs from seed to seed.
		may := func() int { return w.rng.IntN(2) * w.rng.IntN(10) }
		cuts, losses, moves, breaks, crashes, full := may(), may(), may(), may(), may(), may()
		slow := w.rng.IntN(3)
		for range 400 {
			switch k := w.rng.IntN(300); {
			case k < 70:
				w.tell()
			case k < 150:
				w.arrive()
			case k < 200:
				if e := w.rng.IntN(3); e != slow || w.rng.IntN(10) == 0 {
					w.handle(e)
				}
			case k < 215:
				w.confirm()
			case k < 235:
				w.hear()
			case k < 245:
				w.tick()
			case k < 245+cuts:
				w.cut()
			case k < 255+losses:
				w.back = nil
			case k >= 265 && k < 265+moves/3:
				w.move(false)
			case k >= 270 && k < 270+breaks/3:
				w.move(true)
			case k >= 275 && k < 275+crashes/3:
				w.crash()
			case k >= 280 && k < 280+full:
				w.owner.room = w.rng.IntN(10)
			}
		}
		w.heal()
	}
}

func TestSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var s Set
		in := map[uint64]bool{}
		for range 60 {
			n := 1 + rng.Uint64N(20)
			switch rng.IntN(8) {
			case 0:
				s.CutTo(n)
				for k := range in {
					if k <= n {
						delete(in, k)
					}
				}
			case 1, 2, 3:
				if got := s.Remove(n); got != in[n] {
					t.Fatalf("remove %d of %v: %v", n, s, got)
				}
				delete(in, n)
			default:
				s.Add(n)
				in[n] = true
			}
			var out []uint64
			for n := uint64(3); n <= 17; n++ {
				if !in[n] {
					out = append(out, n)
				}
			}
			if got, want := s.Without(Range{3, 17}), Compact(nil, out); !slices.Equal(got, want) {
				t.Fatalf("3 to 17 without %v is %v, want %v", s, got, want)
			}
			if s.Len() != uint64(len(in)) || s.Has(n) != in[n] {
				t.Fatalf("%v has %d numbers and %d: %v; want those of %v", s, s.Len(), n, s.Has(n), in)
			}
			for i := 1; i < len(s.ranges); i++ {
				if s.ranges[i].Lo <= s.ranges[i-1].Hi+1 {
					t.Fatalf("%v has more ranges than it needs", s)
				}
			}
		}
	}
}
