package main

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The traffic of a run: rate messages a second over the chats, in turns of some
// messages that one sender says in one chat. The plan waits for no answer (an open
// loop), so a slow cluster does not lighten its own burden.
const (
	trafficRate  = 200 // messages a second
	trafficChats = 300
	trafficTurn  = 4
	// trafficRound is how long it takes until something was said in each chat.
	trafficRound = trafficChats * trafficTurn * time.Second / trafficRate
)

// traffic comes through the doors that are open.
type traffic struct {
	stop chan struct{}
	plan sync.WaitGroup // the goroutine that keeps to the plan

	mu      sync.Mutex
	doors   []*door
	closed  []*door
	due     map[string]time.Time // when each message was due, by id
	took    []time.Duration      // from then until its 202
	behind  time.Duration        // how late the plan itself was, at worst
	refused []string
}

// A door is a node that takes messages, and its senders.
type door struct {
	node    *process
	client  *http.Client
	killed  atomic.Bool
	senders map[string]chan utterance // by chat; the plan's
	all     sync.WaitGroup
}

// An utterance is one message, and when it is due.
type utterance struct {
	id, chat string
	due      time.Time
}

func startTraffic(doors []*process) *traffic {
	f := &traffic{stop: make(chan struct{}), due: make(map[string]time.Time)}
	for _, p := range doors {
		f.open(p)
	}
	f.plan.Go(f.keepToPlan)
	return f
}

// open lets people come through a node.
func (f *traffic) open(p *process) {
	d := &door{
		node: p, senders: make(map[string]chan utterance),
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doors = append(f.doors, d)
}

// close sends people to the other doors, and returns when all that was said
// through this one is answered: the node may leave.
func (f *traffic) close(p *process) {
	if d := f.take(p, false); d != nil {
		d.shut()
	}
}

// cut sends people to the other doors because the node is killed next; what is on
// its way there is nobody's failure.
func (f *traffic) cut(p *process) { f.take(p, true) }

func (f *traffic) take(p *process, killed bool) *door {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.doors, func(d *door) bool { return d.node == p })
	if i < 0 {
		return nil // no door: edges stand in front
	}
	d := f.doors[i]
	d.killed.Store(killed)
	f.doors = slices.Delete(f.doors, i, i+1)
	f.closed = append(f.closed, d)
	return d
}

// shut returns when all senders are done; the plan knows the door no more.
func (d *door) shut() {
	for chat, s := range d.senders {
		close(s)
		delete(d.senders, chat)
	}
	d.all.Wait()
	d.client.CloseIdleConnections()
}

// end stops the traffic, and returns when all is answered.
func (f *traffic) end() {
	close(f.stop)
	f.plan.Wait()
	for _, d := range slices.Concat(f.doors, f.closed) {
		d.shut()
	}
}

func (f *traffic) keepToPlan() {
	const every = time.Second / trafficRate
	begin := time.Now()
	var through *door // of the present turn
	for n := 0; ; n++ {
		due := begin.Add(time.Duration(n) * every)
		select {
		case <-f.stop:
			return
		case <-time.After(time.Until(due)):
		}
		turn := n / trafficTurn
		through = f.say(n, turn, through, due)
	}
}

// say has message n said, through the door of its turn if that is open.
func (f *traffic) say(n, turn int, through *door, due time.Time) *door {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n%trafficTurn == 0 || !slices.Contains(f.doors, through) {
		through = f.doors[(turn+turn/trafficChats)%len(f.doors)] // each chat through each door
	}
	chat := fmt.Sprintf("c%d", turn*101%trafficChats) // 101 and the number of chats have no common divisor
	u := utterance{id: fmt.Sprintf("at-%s/%s/%d", through.node.label(), chat, n), chat: chat, due: due}
	f.due[u.id] = due
	f.behind = max(f.behind, time.Since(due))
	through.sender(chat, f) <- u
	return through
}

// sender is who says all in a chat that comes through a door, one after the other.
func (d *door) sender(chat string, f *traffic) chan<- utterance {
	s := d.senders[chat]
	if s == nil {
		s = make(chan utterance, 256) // six minutes of what one sender says
		d.senders[chat] = s
		d.all.Go(func() {
			for u := range s {
				f.post(d, u)
			}
		})
	}
	return s
}

func (f *traffic) post(d *door, u utterance) {
	status, body, err := postBy(d.client, d.node.http+"/chats/"+u.chat+"/messages", u.id, "Ann", "text of "+u.id)
	took := time.Since(u.due)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil && status == http.StatusAccepted:
		f.took = append(f.took, took)
	case !d.killed.Load():
		f.refused = append(f.refused, fmt.Sprintf("%s after %v: %d %s %v", u.id, took, status, body, err))
	}
}

func TestTrafficIsSteadyAndGoesThroughOpenDoors(t *testing.T) {
	f := &traffic{due: make(map[string]time.Time)}
	ps := []*process{{name: "a"}, {name: "b"}, {name: "c"}}
	for _, p := range ps {
		f.open(p)
		for chat := range trafficChats { // nobody speaks
			f.doors[len(f.doors)-1].senders[fmt.Sprintf("c%d", chat)] = make(chan utterance, 256)
		}
	}
	const messages = 3 * trafficChats * trafficTurn
	var through *door
	for n := range messages {
		through = f.say(n, n/trafficTurn, through, time.Time{})
	}
	for _, d := range f.doors {
		for chat, s := range d.senders {
			if len(s) != trafficTurn {
				t.Errorf("through %s %d messages go to %s, want %d", d.node.name, len(s), chat, trafficTurn)
			}
		}
	}
	f.cut(ps[through.node.name[0]-'a'])
	if next := f.say(1, 0, through, time.Time{}); next == through {
		t.Error("a turn goes on through a door that was closed")
	}
}
