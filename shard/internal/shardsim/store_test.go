package shardsim

import (
	"time"

	"github.com/troupe-go/troupe/internal/lease"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/ring"
	"github.com/troupe-go/troupe/store"
)

// seatTTL is how long a seat lasts in storms.
const seatTTL = 3 * time.Second

// A database is the store of a world. Locks and fences follow the
// rules of the drivers, which are package store's.
type database struct {
	w       *world
	ttl     time.Duration // of seats
	calls   int
	term    uint64
	token   uint64
	seats   map[string]*sitting
	latches map[string]store.Latch
	fences  map[string]store.Fence
	away    time.Time // it answers nobody until then
}

type sitting struct {
	seat  ring.Seat
	until time.Time
}

func newDatabase(w *world) *database {
	return &database{w: w, ttl: seatTTL, seats: map[string]*sitting{}, latches: map[string]store.Latch{}, fences: map[string]store.Fence{}}
}

// expire forgets the seats that have run out.
func (d *database) expire() {
	for runner, s := range d.seats {
		if !d.w.now.Before(s.until) {
			delete(d.seats, runner)
		}
	}
}

func (d *database) sits(runner string, token uint64) bool {
	d.expire()
	s := d.seats[runner]
	return s != nil && s.seat.Token == token
}

func (d *database) sit(runner string, note []byte) uint64 {
	d.expire()
	if len(d.seats) == 0 {
		d.term++
	}
	s := d.seats[runner]
	if s == nil {
		d.token++
		s = &sitting{seat: ring.Seat{Runner: runner, Token: d.token}}
		d.seats[runner] = s
	}
	s.seat.Note, s.until = note, d.w.now.Add(d.ttl)
	return s.seat.Token
}

func (d *database) keep(runner string, token uint64, note []byte) bool {
	if !d.sits(runner, token) {
		return false
	}
	d.seats[runner].seat.Note, d.seats[runner].until = note, d.w.now.Add(d.ttl)
	return true
}

func (d *database) rise(runner string, token uint64) {
	if d.sits(runner, token) {
		delete(d.seats, runner)
	}
}

// raise gives a term above all that were given and claimed.
func (d *database) raise(least uint64) uint64 {
	for _, f := range d.fences { // any order: only the highest
		d.term = max(d.term, f.Epoch.Term)
	}
	d.term = max(d.term+1, least)
	return d.term
}

// carryOut does what a core asks, at this moment.
func (d *database) carryOut(runner string, r ring.Request) ring.Input {
	switch r := r.(type) {
	case ring.Take:
		return d.take(runner, r)
	case ring.Give:
		d.give(runner, r)
		return ring.Given{}
	case ring.Look:
	}
	return d.table()
}

func (d *database) take(runner string, r ring.Take) ring.Input {
	if !d.sits(runner, r.Token) {
		return ring.Failed{Cause: "lease lost"}
	}
	lasts := map[store.Token]bool{}
	for _, s := range d.seats {
		lasts[store.Token(s.seat.Token)] = true
	}
	var taken ring.Taken
	for _, shard := range r.Shards {
		before := d.latches[shard]
		l, anew := before.Take(store.Token(r.Token), lasts[before.Seat], d.term, d.fences[shard].Epoch)
		if anew {
			d.latches[shard] = d.w.mutant.latched(before, l)
		}
		if l.Seat == store.Token(r.Token) {
			taken.Locks = append(taken.Locks, ring.Lock{Shard: shard, Runner: runner, Token: r.Token, Epoch: protocol.Epoch(d.latches[shard].Epoch)})
		}
	}
	return taken
}

func (d *database) give(runner string, r ring.Give) {
	for _, l := range r.Locks {
		had := store.Latch{Seat: store.Token(r.Token), Epoch: store.Epoch(l.Epoch)}
		if d.sits(runner, r.Token) && d.latches[l.Shard] == had || d.w.mutant == givesByName {
			d.latches[l.Shard] = store.Latch{Epoch: d.latches[l.Shard].Epoch}
		}
	}
}

func (d *database) table() ring.Table {
	d.expire()
	var seats []store.TakenSeat
	notes := map[string][]byte{}
	for _, s := range d.seats {
		notes[s.seat.Runner] = s.seat.Note
		seats = append(seats, store.TakenSeat{
			Seat: store.Seat{Runner: s.seat.Runner, Note: s.seat.Note}, Token: store.Token(s.seat.Token), Left: s.until.Sub(d.w.now),
		})
	}
	var locks []store.Lock
	for shard, l := range d.latches {
		locks = append(locks, store.Lock{Shard: shard, Token: l.Seat, Epoch: l.Epoch})
	}
	var t ring.Table
	seats, locks = store.Seated(seats, locks)
	for _, s := range seats {
		t.Seats = append(t.Seats, ring.Seat{Runner: s.Runner, Token: uint64(s.Token), Note: s.Note})
	}
	for _, l := range locks {
		t.Locks = append(t.Locks, ring.Lock{Shard: l.Shard, Runner: l.Runner, Token: uint64(l.Token), Epoch: protocol.Epoch(l.Epoch)})
	}
	return t
}

// write is what an entity stores with what it has handled; the fence refuses it to
// all but the newest owner.
func (d *database) write(shard string, epoch protocol.Epoch) (highest protocol.Epoch, ok bool) {
	f, err := d.fences[shard].Admit(store.Tenure{Epoch: store.Epoch(epoch)})
	d.fences[shard] = f
	return protocol.Epoch(f.Epoch), err == nil
}

// call has the store do something for a node, and hands the node what came of it:
// at the latest when the time for a try is over, whatever has become of the request.
func (d *database) call(n *node, do func() any, answer func(any)) {
	w, began := d.w, d.w.now
	d.calls++
	limit := began.Add(d.ttl / 5)
	answered := false
	once := func(result any) {
		if !answered {
			answered = true
			answer(result)
		}
	}
	w.at(n, limit, func() { once(nil) })
	there, back := w.way(w.faults.store), w.way(w.faults.store)
	switch {
	case w.now.Before(d.away), w.now.Before(n.cutOff):
		if w.chance(0.5) { // refused at once; or nobody hears it
			w.at(n, w.now.Add(there), func() { once(nil) })
		}
		return
	case w.chance(w.faults.storeLate): // it waits somewhere, and is carried out when nobody expects it
		there = w.upTo(3 * time.Second)
	}
	lost := w.chance(w.faults.storeLost)
	w.after(there, func() {
		result := do()
		if arrive := w.now.Add(back); !lost && arrive.Before(limit) {
			w.at(n, arrive, func() { once(result) })
		}
	})
}

// A keeper keeps a node's seat, by the machine that package store uses.
type keeper struct {
	n       *node
	machine *lease.Machine
	wish    ring.Wish
	until   time.Time // that the core was told
	tick    time.Time
}

func newKeeper(n *node) *keeper {
	ttl := n.w.db.ttl
	return &keeper{n: n, machine: lease.New(lease.Config{TTL: ttl, Renew: ttl / 5, Try: ttl / 5, Margin: ttl / 8})}
}

// want brings the seat nearer to what the core wishes.
func (k *keeper) want(wish ring.Wish) {
	before := k.wish
	k.wish = wish
	token, _, held := k.machine.Holding()
	switch {
	case wish.Sit && held && token <= wish.Spent:
		k.step(lease.Drop{})
		k.step(lease.Want{})
	case wish.Sit && !before.Sit:
		k.step(lease.Want{})
	case !wish.Sit && before.Sit:
		k.step(lease.Drop{})
	case wish.Sit && string(wish.Note) != string(before.Note):
		k.step(lease.Touch{})
	}
}

func (k *keeper) step(in lease.Input) {
	n, w := k.n, k.n.w
	out := k.machine.Step(w.now, in)
	if out.Do != nil {
		k.ask(*out.Do)
	}
	if !out.Wake.IsZero() && !out.Wake.Equal(k.tick) {
		k.tick = out.Wake
		w.at(n, later(w.now, out.Wake), func() { k.step(lease.Tick{}) })
	}
	if token, until, held := k.machine.Holding(); held && !until.Equal(k.until) {
		k.until = until
		n.step(ring.Seated{Token: token, Until: w.mutant.trusted(w.now, until)})
	}
	for _, e := range out.Events {
		if _, ok := e.(lease.Lost); ok {
			if !w.mutant.trustsItself() {
				n.step(ring.SeatLost{Cause: "the store has not confirmed it"})
			}
			if k.wish.Sit {
				k.step(lease.Want{})
			}
		}
	}
}

func (k *keeper) ask(r lease.Request) {
	n, d := k.n, k.n.w.db
	runner, note := n.id.String(), k.wish.Note
	refused := lease.Answer{Outcome: lease.Refused}
	do := func() any {
		switch r.Op {
		case lease.Acquire:
			return lease.Answer{Outcome: lease.Granted, Token: d.sit(runner, note), Left: d.ttl}
		case lease.Renew:
			if d.keep(runner, r.Token, note) {
				return lease.Answer{Outcome: lease.Granted, Token: r.Token, Left: d.ttl}
			}
			return refused
		case lease.Release:
			d.rise(runner, r.Token)
			return lease.Answer{Outcome: lease.Granted, Token: r.Token}
		case lease.Read:
		}
		d.expire()
		if s := d.seats[runner]; s != nil {
			return lease.Answer{Outcome: lease.Granted, Token: s.seat.Token, Left: s.until.Sub(d.w.now)}
		}
		return refused
	}
	d.call(n, do, func(result any) {
		a, ok := result.(lease.Answer)
		if !ok {
			a = lease.Answer{Outcome: lease.Unknown}
		}
		k.step(a)
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
