package flow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/suite"
	"github.com/assaybot/assay/internal/tree"
)

// builtin is how the built-in suite and variants are called in messages.
const builtin = "the built-in suite"

func (f *Flow) openSuite(dir string) (*suite.Suite, error) {
	if dir == "" {
		return suite.Open(f.Tasks, builtin, suite.Options{})
	}
	return suite.Open(os.DirFS(dir), dir, suite.Options{})
}

func (f *Flow) openVariants(dir string) ([]suite.VariantEntry, assay.Problems) {
	if dir == "" {
		return suite.OpenVariants(f.Variants, "the built-in variants")
	}
	return suite.OpenVariants(os.DirFS(dir), dir)
}

// loader turns trials into jobs with all their files.
type loader struct {
	flow     *Flow
	entries  map[string]suite.Entry
	variants map[string]suite.VariantEntry
	keep     bool
}

func (f *Flow) loader(entries []suite.Entry, variants []suite.VariantEntry, req assay.Request) *loader {
	l := &loader{flow: f, entries: map[string]suite.Entry{}, variants: map[string]suite.VariantEntry{}, keep: req.KeepWorkspace}
	for _, e := range entries {
		l.entries[e.Task.ID] = e
	}
	for _, v := range variants {
		l.variants[v.Variant.Name] = v
	}
	return l
}

// job reads the files of a trial. An error is a fault of the task's files.
func (l *loader) job(ctx context.Context, t assay.Trial) (run.Job, error) {
	e, ok := l.entries[t.Task]
	if !ok {
		return run.Job{}, fmt.Errorf("the suite has no task %q any more", t.Task)
	}
	if e.Digest != t.TaskDigest {
		return run.Job{}, fmt.Errorf("task %s was changed since the trial was planned", t.Task)
	}
	v, ok := l.variants[t.Variant]
	if !ok {
		return run.Job{}, fmt.Errorf("there is no variant %q any more", t.Variant)
	}
	job, err := l.flow.taskJob(ctx, e)
	if err != nil {
		return run.Job{}, err
	}
	job.Trial, job.System, job.Overlay = t, v.System, v.Overlay
	job.KeepWorkspace = l.keep
	job.Digests.Variant = v.Digest
	return job, nil
}

// kept is the job of an attempt that is graded again: with the task's hidden
// files and checks as they are now, since changing those is why one grades
// again. That the workspace is still the same is checked by run.
func (l *loader) kept(ctx context.Context, t assay.Trial) (run.Job, error) {
	e, ok := l.entries[t.Task]
	if !ok {
		return run.Job{}, fmt.Errorf("the suite has no task %q any more", t.Task)
	}
	if why := broken(e); why != "" {
		return run.Job{}, fmt.Errorf("task %s is broken now: %s", t.Task, why)
	}
	job, err := l.flow.taskJob(ctx, e)
	job.Trial = t
	return job, err
}

// taskJob is a job with everything that a task alone determines.
func (f *Flow) taskJob(ctx context.Context, e suite.Entry) (run.Job, error) {
	job := run.Job{Task: e.Task, Prompt: e.Prompt, Digests: assay.Digests{Task: e.Digest}}
	var err error
	if job.Workspace, err = f.workspace(ctx, e); err != nil {
		return job, fmt.Errorf("reading the workspace of %s: %w", e.Task.ID, err)
	}
	folders := []struct {
		to   *tree.Tree
		read func() (tree.Tree, error)
		name string
	}{{&job.Verify, e.Verify, "hidden tests"}, {&job.Solution, e.Solution, "solution"}, {&job.Build, e.Environment, "environment"}}
	for _, d := range folders {
		if *d.to, err = d.read(); err != nil {
			return job, fmt.Errorf("reading the %s of %s: %w", d.name, e.Task.ID, err)
		}
	}
	return job, nil
}

func (f *Flow) workspace(ctx context.Context, e suite.Entry) (tree.Tree, error) {
	t, err := e.Workspace()
	if !errors.Is(err, suite.ErrRepository) {
		return t, err
	}
	if f.Commits == nil || e.Task.Base == nil {
		return nil, fmt.Errorf("the task's repository %s can't be read here", e.Task.Repository)
	}
	return f.Commits.Tree(ctx, e.Task.Repository, e.Task.Base.Commit)
}

// LintSummary is what lint found. Notes are no faults.
type LintSummary struct {
	Tasks    int
	Variants int
	Problems assay.Problems
	Notes    []string
}

// Lint tells every fault of folders of tasks or variants.
func (f *Flow) Lint(dirs []string) (LintSummary, error) {
	var sum LintSummary
	for _, dir := range dirs {
		if err := f.lintDir(dir, &sum); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

func (f *Flow) lintDir(dir string, sum *LintSummary) error {
	if holds(dir, "variant.json") {
		vs, ps := f.openVariants(dir)
		sum.Variants += len(vs)
		sum.Problems = append(sum.Problems, ps...)
		return nil
	}
	s, err := f.openSuite(dir)
	if err != nil {
		return err
	}
	sum.Tasks += len(s.Entries)
	sum.Problems = append(sum.Problems, s.Problems()...)
	for _, p := range s.Lint() {
		sum.Notes = append(sum.Notes, "note: "+p.String())
	}
	for _, e := range s.Entries {
		for _, text := range proofNotes(e.Task) {
			sum.Notes = append(sum.Notes, "note: "+e.Task.ID+": "+text)
		}
	}
	return nil
}

// proofNotes is what a proof found of a task that its reader should know.
func proofNotes(t assay.Task) []string {
	var out []string
	if st := t.Strength; st != nil {
		text := fmt.Sprintf("hidden tests notice %d of %d hunks of the reference", st.Noticed, st.Hunks)
		if len(st.Missed) > 0 {
			text += "; not " + strings.Join(st.Missed, ", ")
		}
		out = append(out, text)
	}
	if len(t.Environment.Undated) > 0 {
		out = append(out, fmt.Sprintf("undated: the index tells no dates for %s; what is installed may be newer than the base", strings.Join(t.Environment.Undated, ", ")))
	}
	if t.Validation == nil {
		return out
	}
	for _, file := range slices.Sorted(maps.Keys(t.Validation.Dropped)) {
		out = append(out, fmt.Sprintf("%s doesn't run: %s", file, t.Validation.Dropped[file]))
	}
	if n := len(t.Validation.Flaky); n > 0 {
		out = append(out, fmt.Sprintf("%d tests were dropped because they vary: %s", n, strings.Join(t.Validation.Flaky, ", ")))
	}
	return out
}

// holds tells whether a sub-folder of dir has the file.
func holds(dir, file string) bool {
	found, err := fs.Glob(os.DirFS(dir), "*/"+file)
	return err == nil && len(found) > 0
}
