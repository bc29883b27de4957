package manage

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A Check is one question of a program to itself, such as whether its database
// answers.
type Check struct {
	// Name is what an unhealthy answer calls it; unique among those of its list.
	Name string
	// Ask tells what is wrong, nil for nothing. It is to return when its context
	// ends, at CheckLimit; one that does not is not asked again before it has
	// returned, and counts as timed out meanwhile. Checks of a list run beside
	// each other.
	Ask func(context.Context) error
}

// checks are the program's checks behind one path.
type checks struct {
	list  []*asked
	limit time.Duration
}

// asked is a check with a place for one at a time, so that a check that hangs
// costs one goroutine, however often it is asked.
type asked struct {
	Check
	place chan struct{}
}

func newChecks(list []Check, limit time.Duration) checks {
	c := checks{limit: limit}
	for _, check := range list {
		c.list = append(c.list, &asked{check, make(chan struct{}, 1)})
	}
	return c
}

// ask gives a line for each check that failed, in the order of the list.
func (c checks) ask(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	problems := make([]error, len(c.list))
	var all sync.WaitGroup
	for i, check := range c.list {
		all.Go(func() { problems[i] = check.ask(ctx, c.limit) })
	}
	all.Wait()
	var failed []string
	for i, err := range problems {
		if err != nil {
			failed = append(failed, fmt.Sprintf("Health Check Failed: Check [%s]: %v", c.list[i].Name, err))
		}
	}
	return failed
}

func (a *asked) ask(ctx context.Context, limit time.Duration) error {
	select {
	case a.place <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("an earlier question has had no answer, for more than %v", limit)
	}
	answer := make(chan error, 1)
	go func() { // waited for by whoever takes the place next
		defer func() { <-a.place }()
		answer <- a.answer(ctx)
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no answer within %v", limit)
	}
}

// answer asks; a check that panics has failed, and the process goes on.
func (a *asked) answer(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return a.Ask(ctx)
}
