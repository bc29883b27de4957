package coordinator

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// A Worker is the progress of one hand-over: everybody must have forgotten the
// shard before its host is told to stop it. It only answers what is due; its
// owner sends. A Worker that has ended answers no more.
type Worker struct {
	host    member.ID
	waiting []member.ID // whose acknowledgement is missing
	stage   WorkerStage
}

// WorkerStage is how far a hand-over is.
type WorkerStage uint8

const (
	// Announcing: regions are told to forget the shard.
	Announcing WorkerStage = iota
	// Stopping: the host has been told to stop it.
	Stopping
	// Moved: the host does not run it any more.
	Moved
	// Abandoned: time is up.
	Abandoned
)

// NewWorker begins a hand-over that all the regions must be told of. With none
// the host can be told at once: see Stage.
func NewWorker(host member.ID, regions []member.ID) *Worker {
	w := &Worker{host: host, waiting: slices.Clone(regions)}
	w.advance()
	return w
}

// Stage is how far the hand-over is.
func (w *Worker) Stage() WorkerStage { return w.stage }

// Waiting are the regions which have not acknowledged yet.
func (w *Worker) Waiting() []member.ID { return w.waiting }

// Acked is a region's acknowledgement. The answer is true when it was the last
// one: the host must be told to hand off now.
func (w *Worker) Acked(region member.ID) bool {
	w.waiting = slices.DeleteFunc(w.waiting, func(id member.ID) bool { return id == region })
	return w.advance()
}

// Terminated is the end of a region, which counts as its acknowledgement, and
// once the shard is stopping as that of the host's part. The answer is as that
// of Acked.
func (w *Worker) Terminated(region member.ID) bool {
	if w.stage == Stopping && region == w.host {
		w.stage = Moved
	}
	return w.Acked(region)
}

// Stopped is the host's word that the shard has ended. Before the host was told
// to hand off it means nothing.
func (w *Worker) Stopped() {
	if w.stage == Stopping {
		w.stage = Moved
	}
}

// TimedOut ends a hand-over that took too long.
func (w *Worker) TimedOut() {
	if w.stage < Moved {
		w.stage = Abandoned
	}
}

func (w *Worker) advance() bool {
	if w.stage != Announcing || len(w.waiting) > 0 {
		return false
	}
	w.stage = Stopping
	return true
}
