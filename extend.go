package troupe

import (
	"context"
	"sync"
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

// tasks are what components want done before the node ends.
type tasks struct {
	mu    sync.Mutex
	leave []leaveTask
	end   []endTask
}

type leaveTask struct {
	name string
	run  func(context.Context) error
}

type endTask struct {
	name string
	run  func()
}

// OnLeave registers a task that hands over what the component has on this node
// when the node leaves. Tasks run side by side as soon as the node is Leaving;
// the node confirms its exit when all have returned, or when their context, which
// bounds them together, has ended.
func (n *Node) OnLeave(name string, run func(context.Context) error) {
	n.tasks.mu.Lock()
	defer n.tasks.mu.Unlock()
	n.tasks.leave = append(n.tasks.leave, leaveTask{name, run})
}

// OnEnd registers what runs first whenever the node ends, by whatever way:
// there a component stops what it still has, before actors stop and links
// close. The tasks run in the order of registration and must not block.
func (n *Node) OnEnd(name string, run func()) {
	n.tasks.mu.Lock()
	defer n.tasks.mu.Unlock()
	n.tasks.end = append(n.tasks.end, endTask{name, run})
}
