package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sort"

	"github.com/spf13/cobra"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/flow"
)

type buildOptions struct {
	f          *Factory
	req        flow.BuildRequest
	config     string
	dockerfile string
}

func newBuild(f *Factory, runF func(context.Context, *buildOptions) error) *cobra.Command {
	o := &buildOptions{f: f}
	c := &cobra.Command{
		Use:   "build CANDIDATES",
		Short: "Make task folders, with environments, from mined candidates",
		Long: `Makes a task folder for each candidate that was not rejected: the statement,
the change's tests as hidden files, the rest of it as the reference, and an
environment proposed from what the repository itself says (go.mod,
pyproject.toml, package.json, Cargo.toml, pom.xml). A candidate for which that
fails is rejected with its reason. Nothing is run: 'assay validate' does that.`,
		Example: `  assay build candidates.jsonl --tasks my/tasks --most 10
  assay build candidates.jsonl --tasks my/tasks --id pull-8693
  assay build candidates.jsonl --tasks t --dockerfile Dockerfile --test 'make test TESTS="{tests}"' --report junit`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.req.Candidates = args[0]
			return runF(c.Context(), o)
		},
	}
	fl := c.Flags()
	fl.StringVar(&o.req.Tasks, "tasks", "tasks", "`folder` of the suite to write")
	fl.StringVar(&o.req.Repo, "repo", "", "`path` or address of the repository (default: the one that was mined)")
	fl.StringSliceVar(&o.req.IDs, "id", nil, "only these `candidates`")
	fl.BoolVar(&o.req.Accepted, "accepted", false, "only candidates that a reviewer accepted")
	fl.BoolVar(&o.req.New, "new", false, "leave out candidates that validation has a final word on")
	fl.IntVar(&o.req.Issue, "issue", 0, "only candidates whose change is for this `number` of an issue")
	fl.IntVar(&o.req.Most, "most", 0, "at most `N` candidates")
	fl.BoolVar(&o.req.All, "all-tests", false, "the whole test suite must go on passing, not only the change's own test files")
	fl.IntVar(&o.req.FileSec, "file-timeout", 0, "with --all-tests: `seconds` for one test file; one that takes longer is left out and listed (default 60)")
	fl.StringVar(&o.config, "config", "", "configuration `file` whose part \"mine\" says what these flags don't")
	fl.StringVar(&o.dockerfile, "dockerfile", "", "use this `file` for all tasks instead of a proposal")
	fl.StringArrayVar(&o.req.Test, "test", nil, "with --dockerfile: the `command` that runs the tests, one shell line; {tests} are the change's test files, {report} is the report to write")
	fl.StringVar(&o.req.Format, "report", "", "with --dockerfile: the `format` of that report (default junit)")
	return c
}

// configured takes from the configuration what no flag said.
func (o *buildOptions) configured() error {
	m, err := flow.Mining(o.config)
	if err != nil {
		return err
	}
	o.dockerfile = cmp.Or(o.dockerfile, m.Dockerfile)
	if len(o.req.Test) == 0 && m.Test != "" {
		o.req.Test = []string{m.Test}
	}
	o.req.All = o.req.All || m.Scope == assay.ScopeAll
	o.req.FileSec = cmp.Or(o.req.FileSec, m.FileSec)
	o.req.Format = cmp.Or(o.req.Format, m.Report, "junit")
	return nil
}

func buildRun(ctx context.Context, o *buildOptions) error {
	if err := o.configured(); err != nil {
		return err
	}
	if o.dockerfile != "" {
		text, err := os.ReadFile(o.dockerfile)
		if err != nil {
			return assay.Userf("reading the Dockerfile: %v", err)
		}
		o.req.Dockerfile = string(text)
		if len(o.req.Test) == 1 {
			o.req.Test = []string{"sh", "-c", o.req.Test[0]}
		}
	}
	sum, err := o.f.Flow.Build(ctx, o.req, func(s string) { say(o.f, "%s\n", s) })
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(o.f.Streams.Out, "%s built in %s, %d as before\n", count(len(sum.Built), "task", "tasks"), o.req.Tasks, sum.Kept); err != nil {
		return err
	}
	for _, r := range sortedReasons(sum.Rejected) {
		if _, err := fmt.Fprintf(o.f.Streams.Out, "%4d rejected: %s\n", sum.Rejected[r], r); err != nil {
			return err
		}
	}
	if n := len(sum.Removed); n > 0 {
		say(o.f, "%s of an earlier build removed, as the candidates are rejected now\n", count(n, "task folder", "task folders"))
	}
	if len(sum.Built) > 0 {
		say(o.f, "Next: assay validate %s\n", o.req.Tasks)
	}
	return nil
}

func sortedReasons(m map[assay.Reason]int) []assay.Reason {
	out := make([]assay.Reason, 0, len(m))
	for r := range m {
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

type validateOptions struct {
	f      *Factory
	req    flow.ValidateRequest
	format string
}

func newValidate(f *Factory, runF func(context.Context, *validateOptions) error) *cobra.Command {
	o := &validateOptions{f: f}
	c := &cobra.Command{
		Use:   "validate DIR",
		Short: "Prove tasks both ways: hidden tests fail before the change and pass after it",
		Long: `Runs each task's tests before and after the reference solution, several times
each, with another clock and in another order; sends the reference agents nop
and oracle through the whole grader; and takes each hunk of the solution out
alone to see whether the tests notice. What it finds is written into
task.json: FAIL_TO_PASS, PASS_TO_PASS, strength, and the typed reason of a
task that isn't one. What is proven is left alone: the same command again goes
on where it stopped.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.req.Tasks = args[0]
			return runF(c.Context(), o)
		},
	}
	fl := c.Flags()
	fl.StringSliceVar(&o.req.Task, "task", nil, "only tasks that match this `glob`")
	fl.StringVar(&o.req.Sandbox, "sandbox", "auto", "auto, docker or local")
	fl.IntVar(&o.req.Jobs, "jobs", 2, "tasks at the same time")
	fl.IntVar(&o.req.Repeats, "repeats", 3, "runs before, and after, the change")
	fl.IntVar(&o.req.Hunks, "hunks", 12, "hunks of the solution that are taken out alone, at most (0: none)")
	fl.BoolVar(&o.req.CompileFails, "compile-fails", false, "accept tasks whose tests can't even be built before the change")
	fl.BoolVar(&o.req.Again, "again", false, "prove again what is proven")
	fl.StringVar(&o.format, "format", "terminal", "terminal or json")
	return c
}

func validateRun(ctx context.Context, o *validateOptions) error {
	sum, err := o.f.Flow.Validate(ctx, o.f.Soft, o.req, func(s string) { say(o.f, "%s\n", s) })
	if err != nil {
		return err
	}
	if err := o.f.Flow.WriteProofs(sum, o.format, o.f.Streams.Out); err != nil {
		return err
	}
	if o.f.Soft.Err() != nil {
		say(o.f, "Interrupted: the same command again goes on from here.\n")
		return errSilent{ExitInterrupted}
	}
	if n := sum.Unproven(); n > 0 {
		say(o.f, "%s could not be proven or rejected; the same command tries again.\n", count(n, "task", "tasks"))
		return errSilent{ExitNotAll}
	}
	return nil
}
