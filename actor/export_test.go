package actor

// Watchers counts those who watch the actor of ref.
func Watchers[M any](ref Ref[M]) int {
	c := &ref.door.(*Cell[M]).core
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kin == nil {
		return 0
	}
	return c.kin.watchers.Len()
}
