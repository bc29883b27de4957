package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	life "github.com/troupe-go/troupe/shard/internal/entity"
	"github.com/troupe-go/troupe/store"
)

// A keeper asks the store on behalf of a type's memories: a few requests at a
// time, each shard in its turn, and again what the store did not answer. It may be
// called with a slot's lock held; its own is a leaf. A nil keeper has nothing to do.
type keeper[M any] struct {
	r      *shell[M]
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // the requests in hand

	mu     sync.Mutex
	queue  []*local[M]
	hands  int // goroutines that work the queue off
	paused []pause[M]
	wantAt time.Time // when homes are wanted again; the loop's
}

// A pause is a shard's until the store is asked again.
type pause[M any] struct {
	until time.Time
	home  *local[M]
}

const (
	maxHands    = 4
	storeWithin = 5 * time.Second        // for one request
	storeAgain  = 100 * time.Millisecond // until the first repetition; then twice as long each time, up to Retry
	rememberAt  = rememberPrefix + "%02d"
)

func newKeeper[M any](r *shell[M]) *keeper[M] {
	k := &keeper[M]{r: r, wantAt: time.Now()}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// close ends the requests in hand and waits for them.
func (k *keeper[M]) close() {
	if k == nil {
		return
	}
	k.mu.Lock()
	k.cancel() // under the lock: no hand is raised any more
	k.mu.Unlock()
	k.work.Wait()
}

// host has a shard remember its entities from now on.
func (k *keeper[M]) host(h *local[M]) {
	if k != nil {
		h.memory = new(memory)
		if h.tenure != nil {
			h.keep()
		}
	}
}

// add takes a shard whose memory has something to ask.
func (k *keeper[M]) add(h *local[M]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = append(k.queue, h)
	if k.hands < maxHands && k.ctx.Err() == nil {
		k.hands++
		k.work.Go(k.run)
	}
}

func (k *keeper[M]) run() {
	for h := k.next(); h != nil; h = k.next() {
		k.serve(h)
	}
}

// next gives the shard whose turn it is; with nil the caller has to go.
func (k *keeper[M]) next() *local[M] {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.queue) == 0 || k.ctx.Err() != nil {
		k.hands--
		return nil
	}
	h := k.queue[0]
	k.queue[0] = nil
	k.queue = k.queue[1:]
	return h
}

// serve asks the store one thing for a shard, and has the shard go on.
func (k *keeper[M]) serve(h *local[M]) {
	s := h.s
	s.mu.Lock()
	errand, ok := h.errand()
	s.mu.Unlock()
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(k.ctx, storeWithin)
	err := errand.run(ctx, h.tenure)
	cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m := h.memory; {
	case s.here != h || h.ending: // another node's by now, or soon
	case err != nil:
		m.tries++
		k.r.complain.warn("the store does not serve what is remembered; it is asked again", "remember",
			slog.String("shard", s.shard), slog.Int("tries", m.tries), slog.Any("error", err))
		k.pause(h, min(storeAgain<<min(m.tries-1, 10), k.r.typ.Retry))
	default:
		h.proceed(errand)
	}
}

// pause has a shard wait before the store is asked again.
func (k *keeper[M]) pause(h *local[M], d time.Duration) {
	k.mu.Lock()
	k.paused = append(k.paused, pause[M]{time.Now().Add(d), h})
	k.mu.Unlock()
	k.r.control.posts.Signal()
}

// wake is when a pause is over, or homes are wanted; zero for never.
func (k *keeper[M]) wake() time.Time {
	if k == nil {
		return time.Time{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	wake := k.wantAt
	for _, p := range k.paused {
		if p.until.Before(wake) {
			wake = p.until
		}
	}
	return wake
}

// again has the store asked again for the shards whose pause is over.
func (k *keeper[M]) again(now time.Time) {
	if k == nil {
		return
	}
	k.mu.Lock()
	var over []*local[M]
	kept := k.paused[:0]
	for _, p := range k.paused {
		if now.Before(p.until) {
			kept = append(kept, p)
		} else {
			over = append(over, p.home)
		}
	}
	clear(k.paused[len(kept):])
	k.paused = kept
	k.mu.Unlock()
	for _, h := range over {
		k.add(h)
	}
	if due(k.wantAt, now) {
		k.wantAt = now.Add(k.r.typ.Retry)
		k.r.wantAll()
	}
}

// An errand is one thing that is asked of the store for a shard: to read its book,
// or to write a page of it.
type errand struct {
	write    *life.Write // nil for a read
	book     life.Book   // that was read
	revision store.Revision
}

// errand gives what a shard has to ask of the store; false if that is nothing.
func (h *local[M]) errand() (*errand, bool) {
	m := h.memory
	switch {
	case h.s.here != h || h.ending:
		return nil, false
	case !m.read:
		return new(errand), true
	}
	w, ok := m.book.Next()
	return &errand{write: &w}, ok
}

func (a *errand) run(ctx context.Context, t *tenure) (err error) {
	if err := t.claim(ctx); err != nil {
		return err
	}
	if a.write == nil {
		a.book, err = t.book(ctx)
		return err
	}
	at := store.Revision(a.write.Revision)
	key := fmt.Sprintf(rememberAt, a.write.Page)
	a.revision, err = t.in.Put(ctx, t.Tenure, key, at, a.write.Value)
	if errors.Is(err, store.ErrConflict) { // written by nobody who owns the shard: it gives way
		var e store.Entry
		if e, err = t.in.Get(ctx, t.Shard, key); err == nil {
			a.revision, err = t.in.Put(ctx, t.Tenure, key, e.Revision, a.write.Value)
		}
	}
	return t.check(err)
}

// book reads what is remembered of the shard.
func (t *tenure) book(ctx context.Context) (b life.Book, err error) {
	for after := rememberPrefix; ; {
		entries, err := t.in.List(ctx, t.Shard, after, life.Pages)
		if err != nil || len(entries) == 0 {
			return b, err
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Key, rememberPrefix) {
				return b, nil
			}
			n, err := strconv.Atoi(e.Key[len(rememberPrefix):])
			if err == nil {
				err = b.Load(n, uint64(e.Revision), e.Value)
			}
			if err != nil {
				return b, fmt.Errorf("remembered entities of shard %v, key %q: %w", t.Shard, e.Key, err)
			}
			after = e.Key
		}
	}
}

// proceed goes on behind an errand.
func (h *local[M]) proceed(a *errand) {
	m := h.memory
	m.kept, m.tries = false, 0
	if a.write == nil {
		m.book = a.book
		h.recall()
	} else {
		m.book.Written(uint64(a.revision))
		h.stored(*a.write)
	}
	if m.book.Due() {
		h.keep()
	}
}
