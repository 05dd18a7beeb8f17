package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/assaybot/assay/internal/assay"
)

// Regrade grades an attempt again from what it left: the base of the job with
// the recorded patch. It finishes attempts whose process died while they were
// graded, too. The agent is not run. The error says that the record can't be
// graded; failures of grading are in the result.
func (r *Runner) Regrade(ctx context.Context, job Job, rec Record) (assay.Result, error) {
	a := r.newAttempt(job, rec)
	diff, err := a.recall()
	if err != nil {
		return assay.Result{}, fmt.Errorf("grading attempt %d of %s again: %w", rec.Number(), job.Trial.Dir(), err)
	}
	r.tell(func(e Events) { e.Started(a.job.Trial, rec.Number()) })
	if err := safely(func() error { return a.regrade(ctx, diff) }); err != nil {
		a.fail(ctx, err)
	}
	return a.finish(ctx), nil
}

// recall reads the facts and the patch back.
func (a *attempt) recall() ([]byte, error) {
	data, err := a.rec.Read(FactsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, assay.Userf("the attempt ended before there was anything to grade")
	}
	if err != nil {
		return nil, err
	}
	var facts Facts
	if err := json.Unmarshal(data, &facts); err != nil {
		return nil, fmt.Errorf("reading %s: %w", FactsFile, err)
	}
	facts.Checks, facts.Attempt = nil, a.rec.Number()
	if facts.Trial.ID != a.job.Trial.ID {
		return nil, assay.Userf("the attempt is of trial %s, not of %s", facts.Trial.ID, a.job.Trial.ID)
	}
	a.facts = facts
	if now := a.job.Digests.Task; now != "" {
		a.facts.Digests.Task = now // of the checks that judge it this time
	}
	if facts.Phases == nil {
		a.facts.Phases = map[string]float64{}
	}
	delete(a.facts.Phases, "grade")
	a.ended()
	if facts.TooLarge {
		return nil, nil
	}
	return a.rec.Read(PatchFile)
}

// ended keeps the time at which the attempt was over: grading it again a day
// later makes it no longer. One whose process died while it was graded ended
// when its last known phase did.
func (a *attempt) ended() {
	var before assay.Result
	if data, err := a.rec.Read(ResultFile); err == nil && json.Unmarshal(data, &before) == nil {
		a.facts.Finished = before.Finished
		return
	}
	var known float64
	for _, s := range a.facts.Phases {
		known += s
	}
	a.facts.Finished = a.facts.Started.Add(time.Duration(known * float64(time.Second)))
}

// regrade rebuilds the tree and proves that it is the one that was graded
// before.
func (a *attempt) regrade(ctx context.Context, diff []byte) error {
	if a.facts.TooLarge {
		return nil
	}
	a.base, _ = a.r.Patches.WithoutGit(a.job.Workspace)
	if got := a.base.Digest(); got != a.facts.Digests.Base {
		return &assay.InfraError{
			Kind: assay.InfraGrader, Doing: "rebuilding the workspace", Permanent: true,
			Err: fmt.Errorf("the task's workspace is another one now: %s, not %s", got, a.facts.Digests.Base),
		}
	}
	after, err := a.r.Patches.Apply(ctx, a.base, diff)
	if err != nil {
		return assay.Infra(assay.InfraGrader, "rebuilding the workspace", err)
	}
	if got := after.Digest(); got != a.facts.Digests.After {
		return &assay.InfraError{
			Kind: assay.InfraGrader, Doing: "rebuilding the workspace", Permanent: true,
			Err: fmt.Errorf("the patch gives %s, not %s", got, a.facts.Digests.After),
		}
	}
	if err := a.prepare(ctx); err != nil {
		return err
	}
	early := a.openEarly(ctx)
	defer early.discard(ctx)
	return a.phase("grade", func() error { return a.grade(ctx, after, early) })
}
