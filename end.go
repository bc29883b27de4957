package troupe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
)

// handOver is the part of a node's end that needs the others: it runs the
// components' leave tasks once, lets the core know, and minds the time that the
// others take to remove the node.
type handOver struct {
	once    sync.Once
	cancel  context.CancelFunc
	done    chan struct{} // nil until started
	err     error         // what was not handed over; readable once done is closed
	overdue chan struct{} // closed when the others took too long; nil until started
	watch   sync.WaitGroup
	quiet   chan struct{} // ends the watch; nil until it runs
}

// enter begins the next phase of the end, and says so.
func (n *Node) enter(phase string, within time.Duration, tasks ...string) {
	n.progress.begin(phase, within, tasks...)
	n.log.Info("this node ends", slog.String("phase", phase), slog.Duration("limit", within.Round(time.Millisecond)), slog.String("waits for", strings.Join(tasks, ", ")))
}

// watchEnd names in the log what goes on while the node ends.
func (n *Node) watchEnd() {
	if n.leave.quiet == nil {
		n.leave.quiet = make(chan struct{})
		n.leave.watch.Go(func() { n.progress.watch(n.log, n.leave.quiet) })
	}
}

func (h *handOver) start(n *Node) {
	h.once.Do(func() {
		var ctx context.Context
		ctx, h.cancel = context.WithCancel(context.Background())
		h.done, h.overdue = make(chan struct{}), make(chan struct{})
		n.log.Info("this node leaves", slog.String("plan", n.plan.String()))
		n.watchEnd()
		go func() {
			defer close(h.done)
			defer h.cancel()
			until := time.Now().Add(n.plan.removed)
			late := time.NewTimer(n.plan.removed)
			defer late.Stop()
			var then gossip.Input = gossip.ExitDone{}
			if h.err = n.runLeaveTasks(ctx); h.err != nil {
				then = gossip.Down{Address: n.id.Address} // peers must not take over before their margin
			}
			if ctx.Err() != nil { // the node ended meanwhile
				return
			}
			n.enter(phaseRemoved, time.Until(until))
			_ = n.tell(ctx, then)
			select {
			case <-late.C:
				close(h.overdue)
			case <-ctx.Done():
			}
		}()
	})
}

// straggle is how much longer a task may take whose context has ended, to say
// why.
const straggle = 250 * time.Millisecond

// runLeaveTasks runs all side by side. Those that mind no context are left
// behind when the time is over.
func (n *Node) runLeaveTasks(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.plan.handOver)
	defer cancel()
	leave := n.tasks.takeLeave()
	names := make([]string, len(leave))
	for i, t := range leave {
		names[i] = t.name
	}
	n.enter(phaseHandOver, n.plan.handOver, names...)
	problems := make([]error, len(leave))
	var all sync.WaitGroup
	for i, t := range leave {
		all.Go(func() {
			problems[i] = n.runLeaveTask(ctx, t)
			n.progress.done(phaseHandOver, t.name)
		})
	}
	all.Wait()
	return errors.Join(problems...)
}

func (n *Node) runLeaveTask(ctx context.Context, t leaveTask) (err error) {
	began, answer := time.Now(), make(chan error, 1)
	go func() { answer <- t.run(ctx) }()
	select {
	case err = <-answer:
	case <-ctx.Done():
		had := time.Since(began)
		select {
		case err = <-answer: // it says why
		case <-time.After(straggle):
			err = &OverdueError{Phase: phaseHandOver, Tasks: []string{t.name}, After: had}
		}
	}
	log := n.log.With(slog.String("component", t.name), slog.Duration("took", time.Since(began)))
	if err == nil {
		log.Info("handed over")
		return nil
	}
	log.Warn("not all was handed over", slog.Any("error", err))
	if late := (*OverdueError)(nil); errors.As(err, &late) {
		return err
	}
	return fmt.Errorf("%s: %s: %w", phaseHandOver, t.name, err)
}

// abandon ends a node that the others did not remove in time. It tells them that
// it is down, unless all of them are about to end: then nobody takes anything over.
func (n *Node) abandon() {
	if n.core.ShuttingDown() {
		n.log.Info("not waiting for the others any longer, since the whole cluster shuts down")
		n.end(nil)
		return
	}
	blocking := n.View().Blocking
	n.carryOut(n.core.Step(time.Now(), gossip.Down{Address: n.id.Address}))
	n.end(&EndError{Cause: ErrDowned, Text: fmt.Sprintf("the others did not let it go within %v; what they agree on waits for %s", n.plan.removed, some(blocking))})
}

// some names a few members.
func some(ids []member.ID) string {
	const named = 5
	var names []string
	for _, id := range ids[:min(named, len(ids))] {
		names = append(names, id.Address.String())
	}
	if more := len(ids) - named; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(names) == 0 {
		return "nobody that this node knows of"
	}
	return strings.Join(names, ", ")
}

// end makes everything quiet, entities first, links last. It is the last act
// of the owner goroutine. What does not end in time is named and left behind.
func (n *Node) end(why error) {
	n.err = why
	close(n.ending)
	if why != nil {
		n.log.Error("this node has to end", slog.Any("error", why))
	}
	n.watchEnd()
	problem := func(err error) {
		if err != nil {
			n.log.Error("this node ends though something still runs", slog.Any("error", err))
			n.err = errors.Join(n.err, err)
		}
	}
	problem(n.runEndTasks())
	if n.leave.done != nil {
		n.leave.cancel()
		<-n.leave.done
		n.err = errors.Join(n.err, n.leave.err)
	}
	n.redials.end()
	n.replies.reject(func(ID) bool { return true }, errEnded)
	n.enter(phaseActors, n.plan.actors)
	if err := within(n.plan.actors, n.system.Stop); err != nil {
		problem(&OverdueError{Phase: phaseActors, After: n.plan.actors, Cause: err})
	}
	problem(n.leaveStore(errors.Is(why, ErrKilled)))
	n.loopback.close()
	n.closeLinks(errors.Is(why, ErrKilled))
	if drops := n.Drops(); len(drops) > 0 {
		n.log.Info("dropped in all", slog.Any("by reason", drops))
	}
	close(n.leave.quiet)
	n.leave.watch.Wait()
	n.progress.begin("", 0)
}

// runEndTasks runs one after the other.
func (n *Node) runEndTasks() error {
	end := n.tasks.takeEnd()
	names := make([]string, len(end))
	for i, t := range end {
		names[i] = t.name
	}
	n.enter(phaseComponents, n.plan.components, names...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, t := range end {
			t.run()
			n.progress.done(phaseComponents, t.name)
		}
	}()
	late := time.NewTimer(n.plan.components)
	defer late.Stop()
	select {
	case <-done:
		return nil
	case <-late.C:
		_, _, _, tasks := n.progress.state()
		return &OverdueError{Phase: phaseComponents, Tasks: tasks, After: n.plan.components}
	}
}

// leaveStore waits for who asks the store or looks for other nodes, and frees this
// node's place unless it crashes. What minds no context is left behind.
func (n *Node) leaveStore(crash bool) error {
	n.enter(phaseStore, n.plan.store)
	late := time.NewTimer(n.plan.store)
	defer late.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), n.plan.store*3/4)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.arbiter.end(ctx)
		n.endSeeking(ctx, crash)
	}()
	select {
	case <-done:
		return nil
	case <-late.C:
		return &OverdueError{Phase: phaseStore, After: n.plan.store}
	}
}

// closeLinks writes what is queued, unless the node was killed. A peer that does
// not take it loses it, as it would by a crash.
func (n *Node) closeLinks(killed bool) {
	flush := n.plan.links
	n.enter(phaseLinks, flush)
	if killed {
		flush = 0
	}
	if err := within(flush, n.endpoint.Close); err != nil && !killed {
		n.log.Warn("links did not close in time, and what was queued is lost", slog.String("phase", phaseLinks), slog.Any("error", err))
	}
}

func within(d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return f(ctx)
}
