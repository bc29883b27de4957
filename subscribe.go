package troupe

import "slices"

// watchers are the callbacks for new views and events. The owner goroutine
// owns them.
type watchers struct {
	list []*watcher
}

type watcher struct {
	view  func(*View)
	event func(Event)
}

func (w *watchers) tellView(v *View) {
	for _, x := range w.list {
		if x.view != nil {
			x.view(v)
		}
	}
}

func (w *watchers) tellEvent(e Event) {
	for _, x := range w.list {
		if x.event != nil {
			x.event(e)
		}
	}
}

func (w *watchers) add(x *watcher) { w.list = append(w.list, x) }

func (w *watchers) remove(x *watcher) {
	w.list = slices.DeleteFunc(w.list, func(y *watcher) bool { return x == y })
}

// Subscribe calls f with the current view and then with each new one, in
// order, on the node's own goroutine: f must not block and must not call back
// into methods of Node that wait. After unsubscribe has returned f is not
// called any more, nor running; f itself must not call it.
func (n *Node) Subscribe(f func(*View)) (unsubscribe func()) {
	return n.watch(&watcher{view: f})
}

// Events calls f with each change of the membership from now on, in order, under the
// same rules as [Node.Subscribe].
func (n *Node) Events(f func(Event)) (unsubscribe func()) {
	return n.watch(&watcher{event: f})
}

// Follow is Events for who also needs what was before: past are the events that
// lead from an empty membership to the present one, and f is called with each
// one after them, leaving none out.
func (n *Node) Follow(f func(Event)) (past []Event, unsubscribe func()) {
	w := &watcher{event: f}
	n.onOwner(func() {
		past = n.core.Machine().Replay()
		n.watchers.add(w)
	})
	return past, func() { n.onOwner(func() { n.watchers.remove(w) }) }
}

func (n *Node) watch(w *watcher) (unsubscribe func()) {
	n.onOwner(func() {
		n.watchers.add(w)
		if w.view != nil {
			w.view(n.view.Load())
		}
	})
	return func() { n.onOwner(func() { n.watchers.remove(w) }) }
}

// onOwner runs f on the owner goroutine and waits for it. Once the node is
// ending no callback is called any more, and f is not run.
func (n *Node) onOwner(f func()) {
	ran := make(chan struct{})
	select {
	case n.commands <- func() { defer close(ran); f() }:
		<-ran
	case <-n.ending:
	}
}

func (n *Node) isEnding() bool {
	select {
	case <-n.ending:
		return true
	default:
		return false
	}
}
