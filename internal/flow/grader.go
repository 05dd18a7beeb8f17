package flow

import (
	"context"
	"fmt"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/grade"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/tree"
)

// grader joins the pure stage grade with boxes: it implements run.Grader.
type grader struct {
	// allowed lists, by task, the paths that the reference changes: they are
	// never put back to the base.
	allowed func(task string) []string
}

var _ run.Grader = (*grader)(nil)

// Grade judges a workspace: files first, then each command alone in a fresh
// box, and what grading itself put back as evidence.
func (g *grader) Grade(ctx context.Context, in run.Grading) ([]assay.CheckResult, error) {
	results := make([]assay.CheckResult, 0, len(in.Task.Checks)+1)
	for _, c := range in.Task.Checks {
		if grade.IsStatic(c.Kind) {
			results = append(results, grade.Static(c, in.Task, in.Base, in.After))
		}
	}
	steps := grade.Steps(in.Task)
	if len(steps) == 0 {
		return results, nil
	}
	graded, restored := grade.Workspace(in.Task, in.Base, in.After, g.allowed(in.Task.ID))
	ran, err := g.runSteps(ctx, in, steps, graded)
	if err != nil {
		return nil, err
	}
	noteRestored(ran, restored)
	return inOrder(in.Task, append(results, ran...)), nil
}

func (g *grader) runSteps(ctx context.Context, in run.Grading, steps []grade.Step, graded tree.Tree) (out []assay.CheckResult, err error) {
	box, err := in.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := box.Close(ctx); err == nil {
			err = assay.Infra(assay.InfraSandbox, "removing the grader's box", e)
		}
	}()
	paths := run.PathsOf(box)
	left := make([]grade.Left, len(steps))
	laid, hidden := splitHidden(in.Verify)
	changed, err := run.Checks(ctx, box, run.CheckRun{
		Graded: laid.over(graded), Hidden: tree.Over(hidden, grade.Runners().In(".assay")),
		Setup: in.Task.Environment.Setup, Env: expanded(in.Task.Environment.Env, paths), Limits: in.Limits,
		Steps: runSteps(steps, paths), Out: in.Out,
		Judge: func(i int, f run.StepFacts) { left[i] = leftBy(f, paths) },
	})
	if err != nil {
		return nil, err
	}
	out = judged(steps, left)
	if len(changed) > 0 {
		out = append(out, assay.CheckResult{
			Name: "hidden-files", Kind: assay.CheckTestsUnmodified, Status: assay.CheckIntegrity,
			Detail: "hidden files were changed while the checks ran: " + strings.Join(changed, ", "),
		})
	}
	return out, nil
}

// expanded fills {work} and its like in the values of an environment.
func expanded(env map[string]string, p run.Paths) map[string]string {
	r := strings.NewReplacer("{work}", p.Work, "{verify}", p.Verify)
	out := make(map[string]string, len(env))
	for k, v := range env {
		out[k] = r.Replace(v)
	}
	return out
}

func runSteps(steps []grade.Step, paths run.Paths) []run.Step {
	out := make([]run.Step, len(steps))
	for i, s := range steps {
		out[i] = run.Step{
			Name: s.Name(), Env: expanded(s.Env, paths), Timeout: s.Timeout, Report: workReport(s, paths),
			Argv: func(p run.Paths) []string { return s.Argv(p.Work, p.Verify, p.Report, p.Runner) },
		}
	}
	return out
}

// workReport is the report's path relative to the workspace, "" for a report
// below the report folder.
func workReport(s grade.Step, p run.Paths) string {
	dir := s.Dir(p.Work, p.Report)
	rel, ok := strings.CutPrefix(dir+"/", p.Work+"/")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(rel, "/") + "/" + s.Report
}

// judged decides each check by what all its steps left; those of one check
// follow each other.
func judged(steps []grade.Step, left []grade.Left) []assay.CheckResult {
	var out []assay.CheckResult
	for i := 0; i < len(steps); {
		n := i + 1
		for n < len(steps) && steps[n].Check.Name == steps[i].Check.Name {
			n++
		}
		out = append(out, grade.JudgeParts(steps[i:n], left[i:n]))
		i = n
	}
	return out
}

func leftBy(f run.StepFacts, p run.Paths) grade.Left {
	exit := grade.ExitFacts{
		Code: f.Exit.Code, Signal: f.Exit.Signal, TimedOut: f.TimedOut, OOM: f.Exit.OOM,
		CPU: f.Exit.CPU, PeakMB: f.Exit.PeakMB, Wall: f.Exit.Wall, Work: p.Work, Verify: p.Verify,
	}
	tail := append(append([]byte(nil), f.Stdout...), f.Stderr...)
	if f.ReportErr != nil {
		tail = append(tail, []byte("\n"+f.ReportErr.Error())...)
	}
	return grade.Left{Exit: exit, Reports: f.Report, Tail: tail}
}

// noteRestored adds to the first miss what was put back, since that is often
// why the agent's own run looked different.
func noteRestored(results []assay.CheckResult, restored []grade.Restored) {
	if len(restored) == 0 {
		return
	}
	words := make([]string, 0, len(restored))
	for _, r := range restored {
		words = append(words, r.String())
	}
	for i := range results {
		if results[i].Status == assay.CheckPassed {
			continue
		}
		results[i].Detail = strings.TrimPrefix(fmt.Sprintf("%s; put back before grading: %s", results[i].Detail, strings.Join(words, ", ")), "; ")
		return
	}
}

// inOrder sorts results by the task's checks; what is none of them comes
// last.
func inOrder(task assay.Task, results []assay.CheckResult) []assay.CheckResult {
	byName := map[string][]assay.CheckResult{}
	for _, r := range results {
		byName[r.Name] = append(byName[r.Name], r)
	}
	out := make([]assay.CheckResult, 0, len(results))
	for _, c := range task.Checks {
		out = append(out, byName[c.Name]...)
		delete(byName, c.Name)
	}
	for _, r := range results {
		out = append(out, byName[r.Name]...)
		delete(byName, r.Name)
	}
	return out
}
