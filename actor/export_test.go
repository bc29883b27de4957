package actor

// Workers counts the goroutines that run behaviors.
func Workers(s *System) int {
	s.sched.mu.Lock()
	defer s.sched.mu.Unlock()
	return s.sched.workers
}

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
