package troupe

import (
	"context"
	"fmt"
	"sync"

	"github.com/troupe-go/troupe/actor"
)

// components are the values that other packages keep with a node.
type components struct {
	mu sync.Mutex
	by map[any]any
}

// Component returns the value kept under key, making it on first use: one per
// node for each package that extends it. Keys are compared with ==; use a type
// of your own. The function must not call Component.
func (n *Node) Component(key any, first func() any) any {
	c := &n.components
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.by[key]
	if !ok {
		v = first()
		if c.by == nil {
			c.by = map[any]any{}
		}
		c.by[key] = v
	}
	return v
}

// ErrEnding refuses what comes too late: the node is about to end.
const ErrEnding = actor.Error("troupe: the node is ending")

// tasks are what components want done before the node ends.
type tasks struct {
	mu              sync.Mutex
	leave           []leaveTask
	end             []endTask
	leaving, ending bool // the lists have been taken
}

type leaveTask struct {
	name string
	run  func(context.Context) error
}

type endTask struct {
	name string
	run  func()
}

// takeLeave gives the leave tasks; none can be added from now on.
func (t *tasks) takeLeave() []leaveTask {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaving = true
	return t.leave
}

// takeEnd gives the end tasks; none can be added from now on.
func (t *tasks) takeEnd() []endTask {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ending, t.leaving = true, true
	return t.end
}

// OnLeave registers a task that hands over what the component has on this node
// when the node leaves. Tasks run side by side as soon as the node is Leaving. When all have
// returned nil the node confirms its exit. When one fails, or their context, which bounds them
// together (17/28 of Config.LeaveWithin), has ended, the node does not confirm but downs itself, so
// that nobody takes over too early what may still be running here. One that does not return then is
// named and left behind.
//
// It fails with [ErrEnding] when the node is already leaving.
func (n *Node) OnLeave(name string, run func(context.Context) error) error {
	n.tasks.mu.Lock()
	defer n.tasks.mu.Unlock()
	if n.tasks.leaving {
		return fmt.Errorf("join %s to %s: %w", name, n.id.Address, ErrEnding)
	}
	n.tasks.leave = append(n.tasks.leave, leaveTask{name, run})
	return nil
}

// OnEnd registers what runs first whenever the node ends, by whatever way:
// there a component stops what it still has, before actors stop and links
// close. The tasks run in the order of registration and must not block: together
// they have 1/28 of Config.LeaveWithin, and what has not run by then runs beside
// what comes next.
//
// It fails with [ErrEnding] when the node is already ending.
func (n *Node) OnEnd(name string, run func()) error {
	n.tasks.mu.Lock()
	defer n.tasks.mu.Unlock()
	if n.tasks.ending {
		return fmt.Errorf("join %s to %s: %w", name, n.id.Address, ErrEnding)
	}
	n.tasks.end = append(n.tasks.end, endTask{name, run})
	return nil
}
