package flow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/ledger"
	"github.com/assaybot/assay/internal/run"
)

// GradeRequest asks to score a results folder again. Empty fields are taken
// from the run itself.
type GradeRequest struct {
	Dir     string
	Tasks   string
	Sandbox string
	Jobs    int
}

// GradeSummary is what grading again did. Reasons has a line per attempt that
// was skipped.
type GradeSummary struct {
	Graded, Changed, Skipped int
	Reasons                  string
}

// Grade scores every kept attempt again from its facts and patch. The agents
// are not run; earlier results are kept beside the new ones.
func (f *Flow) Grade(ctx context.Context, g GradeRequest, log io.Writer) (sum GradeSummary, err error) {
	if !isDir(g.Dir) {
		return sum, assay.Userf("there is no results folder %s", g.Dir)
	}
	meta, err := runOf(g.Dir)
	if err != nil {
		return sum, err
	}
	l, err := ledger.Open(g.Dir, f.Owner)
	if err != nil {
		return sum, err
	}
	defer func() {
		if e := l.Close(); err == nil {
			err = e
		}
	}()
	ready, err := f.prepareGrade(ctx, g, meta.Request)
	if err != nil {
		return sum, err
	}
	defer func() { _ = ready.sandbox.Close(context.WithoutCancel(ctx)) }()
	return f.gradeAll(ctx, l, ready, log)
}

// runOf reads what a results folder says of its run, and writes nothing into
// a folder that is none.
func runOf(dir string) (ledger.Run, error) {
	l, err := ledger.OpenRead(dir)
	if err != nil {
		return ledger.Run{}, err
	}
	meta, err := l.Run()
	if errors.Is(err, fs.ErrNotExist) {
		return meta, assay.Userf("%s holds no results of assay (it has no %s)", dir, ledger.RunFile)
	}
	return meta, err
}

func (f *Flow) prepareGrade(ctx context.Context, g GradeRequest, req assay.Request) (prepared, error) {
	req.Out, req.Jobs = g.Dir, max(1, g.Jobs)
	if g.Tasks != "" {
		req.Tasks = g.Tasks
	}
	if g.Sandbox != "" {
		req.Sandbox = g.Sandbox
	}
	p := prepared{req: req}
	s, err := f.openSuite(req.Tasks)
	if err != nil {
		return p, err
	}
	variants, _ := f.openVariants(req.VarDir)
	p.entries = s.Entries
	p.load = f.loader(s.Entries, variants, req)
	p.sandbox, err = f.Sandbox(ctx, req.Sandbox, runID(req))
	return p, err
}

// gradeAll regrades in parallel; one attempt's failure is its own.
func (f *Flow) gradeAll(ctx context.Context, l *ledger.Ledger, ready prepared, log io.Writer) (sum GradeSummary, err error) {
	var found []ledger.Found
	problems := l.Each(func(x ledger.Found) bool { found = append(found, x); return true })
	r := f.runner(l, ready, nil)
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(ready.req.Jobs)
	for _, x := range found {
		if x.Result == nil || !gradable(*x.Result) {
			continue
		}
		group.Go(func() error {
			after, err := f.gradeOne(ctx, r, ready, x)
			mu.Lock()
			defer mu.Unlock()
			sum.add(*x.Result, after, err)
			_, _ = fmt.Fprintf(log, "%s attempt %d: %s\n", x.Result.Trial.Dir(), x.Result.Attempt, after.Outcome)
			return ctx.Err()
		})
	}
	err = group.Wait()
	for _, p := range problems {
		sum.Skipped++
		sum.Reasons += "  " + p.String() + "\n"
	}
	return sum, err
}

// gradable tells whether the agent got so far that there is something to
// grade.
func gradable(r assay.Result) bool {
	if r.Outcome == assay.InfraFail {
		return r.Infra == assay.InfraGrader
	}
	return r.Outcome != assay.Cancelled
}

func (f *Flow) gradeOne(ctx context.Context, r *run.Runner, ready prepared, x ledger.Found) (assay.Result, error) {
	job, err := ready.load.kept(ctx, x.Result.Trial)
	if err != nil {
		return assay.Result{}, fmt.Errorf("%s: %w", x.Result.Trial.Dir(), err)
	}
	a := x.Attempt
	return r.Regrade(ctx, job, &a)
}

func (s *GradeSummary) add(before, after assay.Result, err error) {
	if err != nil {
		s.Skipped++
		s.Reasons += "  " + err.Error() + "\n"
		return
	}
	s.Graded++
	if before.Outcome != after.Outcome || before.Score != after.Score {
		s.Changed++
	}
}
