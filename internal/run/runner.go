package run

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/assaybot/assay/internal/assay"
)

// Runner executes trials. Its fields are set before the first call and not
// changed after; one Runner serves any number of attempts at a time.
type Runner struct {
	Sandbox Sandbox
	Agents  map[string]Agent
	// Gateway is nil when agents reach their model by themselves (they
	// can't, from an isolated box).
	Gateway Gateway
	// Outlet is nil when no box gets a way out but to its model.
	Outlet  Outlet
	Grader  Grader
	Patches Patches
	// Begin takes the next attempt of a trial in the ledger.
	Begin  func(assay.Trial) (Record, error)
	Events Events // may be nil
	// Run labels everything that is made for this run.
	Run string
	// EarlyGrader opens the grader's box, with the base in it and no
	// hidden file, while the agent works.
	EarlyGrader bool
	// Now and Sleep are the clock; nil means the machine's.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
	// Free is the room left on the results' disk in bytes; nil means
	// unchecked. Below MinFree nothing new is started.
	Free    func() (int64, error)
	MinFree int64

	events sync.Mutex
	repos  repoCache
}

// closeTime bounds cleaning up and recording, which go on when the run is
// over.
const closeTime = 2 * time.Minute

func (r *Runner) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

func (r *Runner) sleep(ctx context.Context, d time.Duration) error {
	if r.Sleep != nil {
		return r.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tell calls one event under the lock, so that sinks need none.
func (r *Runner) tell(event func(Events)) {
	if r.Events == nil {
		return
	}
	r.events.Lock()
	defer r.events.Unlock()
	event(r.Events)
}

// Attempt makes one attempt of a job and records it. It returns when nothing
// of the attempt is left running, whatever went wrong; failures are in the
// result.
func (r *Runner) Attempt(ctx context.Context, job Job) assay.Result {
	rec, err := r.Begin(job.Trial)
	if err != nil {
		return r.unrecorded(job.Trial, err)
	}
	a := r.newAttempt(job, rec)
	r.tell(func(e Events) { e.Started(job.Trial, rec.Number()) })
	if err := safely(func() error { return a.perform(ctx) }); err != nil {
		a.fail(ctx, err)
	}
	return a.finish(ctx)
}

// unrecorded is the result of an attempt for which the ledger had no place.
func (r *Runner) unrecorded(t assay.Trial, err error) assay.Result {
	now := r.now()
	res := assay.Result{Schema: assay.ResultSchema, Trial: t, Started: now, Finished: now}
	Verdict{Outcome: assay.InfraFail, Infra: assay.InfraDisk, Detail: err.Error()}.into(&res)
	r.tell(func(e Events) { e.Finished(res) })
	return res
}

// record makes a failed attempt of a job that could not even be loaded.
func (r *Runner) record(ctx context.Context, t assay.Trial, cause error) assay.Result {
	rec, err := r.Begin(t)
	if err != nil {
		return r.unrecorded(t, errors.Join(cause, err))
	}
	a := r.newAttempt(Job{Trial: t}, rec)
	a.fail(ctx, cause)
	return a.finish(ctx)
}

// safely turns a panic of f into an error, so that one attempt's bug is one
// attempt's failure.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &assay.InfraError{
				Kind: assay.InfraSandbox, Doing: "running an attempt",
				Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack()),
			}
		}
	}()
	return f()
}

// shielded is a context for cleaning up: the run's end doesn't end it.
func shielded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), closeTime)
}
