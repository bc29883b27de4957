package troupe

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// ExitForced is the status of a process that a second signal has ended; see
// [UntilSignal].
const ExitForced = 3

// UntilSignal gives a program's main function a context that ends with the
// first SIGINT or SIGTERM, which its cause names: then it should call [Node.Leave],
// which takes Config.LeaveWithin at most. A second signal does not wait for that: the
// process exits at once with [ExitForced], and the log names the phases that had begun.
// stop ends the watch for signals and the context, and must be called.
func UntilSignal(parent context.Context, log *slog.Logger) (ctx context.Context, stop context.CancelFunc) {
	return untilSignal(parent, log, os.Exit)
}

func untilSignal(parent context.Context, log *slog.Logger, exit func(status int)) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case s := <-signals:
			log.Info("leaving gracefully; a second signal ends this at once", slog.String("signal", s.String()))
			cancel(fmt.Errorf("%s signal received", s))
		case <-stopped:
			return
		}
		select {
		case s := <-signals:
			log.Error("forced to end by a second signal", slog.String("signal", s.String()), slog.Int("status", ExitForced))
			exit(ExitForced)
		case <-stopped:
		}
	}()
	return ctx, sync.OnceFunc(func() {
		cancel(nil)
		signal.Stop(signals)
		close(stopped)
		<-done
	})
}
