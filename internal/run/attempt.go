package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/disk"
	"github.com/assaybot/assay/internal/tree"
)

// attempt is one attempt under way. It is owned by one goroutine; what runs
// beside it is waited for before perform returns.
type attempt struct {
	r     *Runner
	job   Job
	rec   Record
	facts Facts

	base  tree.Tree
	image Image
	err   error
	// stopped: the run was cancelled while the attempt was under way.
	stopped bool
}

func (r *Runner) newAttempt(job Job, rec Record) *attempt {
	a := &attempt{r: r, job: job, rec: rec}
	if job.Prompt == "" {
		a.job.Prompt = job.Task.Prompt
	}
	a.job.Trial.Limits = job.Trial.Limits.Or(job.Task.Limits).Or(assay.DefaultLimits())
	a.facts.Result = assay.Result{
		Schema: assay.ResultSchema, Trial: a.job.Trial, Attempt: rec.Number(),
		Started: r.now(), Phases: map[string]float64{}, Digests: job.Digests,
	}
	d := &a.facts.Digests
	d.Task, d.Variant = job.Trial.TaskDigest, job.Trial.VariantDigest
	return a
}

func (a *attempt) limits() assay.Limits { return a.job.Trial.Limits }

// perform is the road of an attempt, up to the checks. Everything that is
// learnt goes into a.facts as it is learnt.
func (a *attempt) perform(ctx context.Context) error {
	a.base, _ = a.r.Patches.WithoutGit(a.job.Workspace)
	a.facts.Digests.Base = a.base.Digest()
	if err := a.phase("prepare", func() error { return a.prepare(ctx) }); err != nil {
		return err
	}
	early := a.openEarly(ctx)
	defer early.discard(ctx)
	left, err := a.work(ctx)
	if err != nil {
		return err
	}
	var after tree.Tree
	err = a.phase("collect", func() (err error) {
		after, err = a.collect(ctx, left)
		return err
	})
	if err != nil || a.facts.TooLarge {
		return err
	}
	if _, failed := apiFailure(a.seen()); failed { // no check could change that
		return nil
	}
	return a.phase("grade", func() error { return a.grade(ctx, after, early) })
}

// phase books the seconds of f.
func (a *attempt) phase(name string, f func() error) error {
	begun := a.r.now()
	err := f()
	a.facts.Phases[name] += a.r.now().Sub(begun).Seconds()
	return err
}

// prepare makes sure of the image. What the build said is told when it fails.
func (a *attempt) prepare(ctx context.Context) error {
	log := newTail(tailBytes)
	image, err := a.r.Sandbox.Prepare(ctx, a.job.Task.Environment, a.job.Build, log)
	if err != nil {
		if said := log.bytes(); len(said) > 0 {
			err = fmt.Errorf("%w\n%s", err, clip(string(said), 4000))
		}
		if assay.IsUser(err) { // a fault of the task: another attempt has it too
			return a.never("preparing the environment", err)
		}
		return assay.Infra(assay.InfraSandbox, "preparing the environment", err)
	}
	a.image, a.facts.Digests.Image = image, image.Digest
	return nil
}

// spec is a box of this attempt.
func (a *attempt) spec(role string) BoxSpec {
	return BoxSpec{Run: a.r.Run, Role: role, Image: a.image, Limits: a.limits()}
}

// collect makes of what the agent left the tree that counts, and its patch,
// and writes both down with all facts before anything is graded.
func (a *attempt) collect(ctx context.Context, left leftover) (tree.Tree, error) {
	if a.facts.TooLarge {
		return nil, a.saveFacts()
	}
	if a.job.KeepWorkspace {
		if err := a.keep(left.tree); err != nil {
			return nil, err
		}
	}
	after, ignored, err := a.counted(ctx, left)
	if err != nil {
		return nil, assay.Infra(assay.InfraGrader, "collecting the workspace", err)
	}
	diff, err := a.patch(ctx, after)
	if err != nil {
		return nil, err
	}
	a.facts.Patch = a.r.Patches.Sum(a.base, after, diff)
	a.facts.Patch.Ignored = ignored
	a.facts.Digests.After, a.facts.Digests.Patch = after.Digest(), digest(diff)
	if err := a.rec.Write(PatchFile, diff); err != nil {
		return nil, assay.Infra(assay.InfraDisk, "keeping the patch", err)
	}
	return after, a.saveFacts()
}

// patch makes the patch and proves that it gives after again.
func (a *attempt) patch(ctx context.Context, after tree.Tree) ([]byte, error) {
	diff, err := a.r.Patches.Make(ctx, a.base, after)
	if err != nil {
		return nil, assay.Infra(assay.InfraGrader, "making the patch", err)
	}
	again, err := a.r.Patches.Apply(ctx, a.base, diff)
	if err != nil {
		return nil, assay.Infra(assay.InfraGrader, "applying the patch again", err)
	}
	if again.Digest() != after.Digest() {
		err := fmt.Errorf("it gives another tree: %v", tree.Diff(after, again))
		return nil, &assay.InfraError{Kind: assay.InfraGrader, Doing: "applying the patch again", Err: err, Permanent: true}
	}
	return diff, nil
}

func (a *attempt) keep(left tree.Tree) error {
	w, err := a.rec.Create(WorkspaceFile)
	if err == nil {
		err = errors.Join(tree.WriteTar(w, left), w.Close())
	}
	return assay.Infra(assay.InfraDisk, "keeping the workspace", err)
}

func (a *attempt) saveFacts() error {
	data, err := json.MarshalIndent(a.facts, "", "  ")
	if err == nil {
		err = a.rec.Write(FactsFile, append(data, '\n'))
	}
	return assay.Infra(assay.InfraDisk, "keeping the facts", err)
}

// grade has the tree judged in a fresh box.
func (a *attempt) grade(ctx context.Context, after tree.Tree, early *earlyBox) error {
	checks, err := a.r.Grader.Grade(ctx, Grading{
		Task: a.job.Task, Limits: a.limits(), Base: a.base, After: after, Verify: a.job.Verify,
		Open: early.take,
		Out:  func(name string) (io.WriteCloser, error) { return a.rec.Create(CheckFolder + "/" + name) },
	})
	a.facts.Checks = checks
	if err == nil && ctx.Err() != nil { // checks that were killed say nothing
		return context.Cause(ctx)
	}
	return assay.Infra(assay.InfraGrader, "grading", err)
}

// fail notes what ended the attempt early. A full disk is named as such,
// whatever noticed it.
func (a *attempt) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		a.stopped = true
		a.facts.Agent.Stopped = StoppedCancel
	}
	if disk.IsFull(err) {
		err = &assay.InfraError{Kind: assay.InfraDisk, Doing: "running an attempt", Err: err}
	}
	a.err = err
}

// finish decides and writes the result, last of all. It looks at no context:
// what was done is recorded, whatever stopped it.
func (a *attempt) finish(ctx context.Context) assay.Result {
	a.decide()
	if a.facts.Finished.IsZero() {
		a.facts.Finished = a.r.now()
	}
	if err := a.rec.Finish(a.facts.Result); err != nil {
		a.facts.Checks = nil
		a.fail(context.WithoutCancel(ctx), &assay.InfraError{Kind: assay.InfraDisk, Doing: "writing the result", Err: err})
		a.stopped = false
		a.decide()
	}
	a.r.tell(func(e Events) { e.Finished(a.facts.Result) })
	return a.facts.Result
}

func (a *attempt) decide() { Decide(a.seen()).into(&a.facts.Result) }

func (a *attempt) seen() Seen {
	return Seen{
		Agent: a.facts.Agent, Model: a.facts.Model, Checks: a.facts.Checks,
		Err: a.err, Cancelled: a.stopped, OOM: a.facts.OOM, TooLarge: a.facts.TooLarge,
	}
}

// since is seconds for a result.
func since(from, to time.Time) float64 {
	if from.IsZero() {
		return 0
	}
	return to.Sub(from).Seconds()
}
