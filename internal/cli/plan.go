package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/flow"
)

// Outputs takes the outputs of a workflow's step. An error says that there is
// no such step, or that a value can't be one.
type Outputs interface {
	Set(name, value string) error
}

type planOptions struct {
	run    runOptions
	req    flow.PlanRequest
	format string
	github bool
	// history is the remote of --history, "auto" for the workflow's own.
	history, branch string
}

func newPlan(f *Factory, runF func(context.Context, *planOptions) error) *cobra.Command {
	o := &planOptions{run: runOptions{f: f}}
	c := &cobra.Command{
		Use:   "plan",
		Short: "Split a run into shards of even time, and say what it will cost; runs nothing",
		Long: `Plans what 'assay run' with the same flags would run, leaves out what --results
have an answer to, and splits the rest into shards that are expected to take
the same time. Durations and costs are those of the nearest earlier trials.
The same inputs give the same shards. Nothing to do is no failure: count is 0.

'assay run --shard 2/7 --plan DIR' runs one shard, 'assay merge' joins the
results.`,
		Example: `  assay plan --config .github/assay.yml --results results/last
  assay plan --agents claude-code --models claude-sonnet-4-5 --minutes 45 --format json
  assay plan --config .github/assay.yml --out planned --github`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runF(c.Context(), o) },
	}
	o.run.requestFlags(c.Flags())
	fl := c.Flags()
	fl.Lookup("out").Usage = "write the plan to this results `folder`"
	fl.StringArrayVar(&o.req.Results, "results", nil, "results `folder` of an earlier run (repeatable); one that is missing is no mistake")
	fl.StringVar(&o.history, "history", "", "`address` of the repository whose branch has the history of results, or auto for the workflow's own")
	fl.StringVar(&o.branch, "history-branch", flow.HistoryBranch, "`branch` of the history")
	fl.DurationVar(&o.req.MaxAge, "max-age", 0, "answers of the history that are younger than this `age`, such as 20h, aren't asked for again (default: all are)")
	fl.BoolVar(&o.req.All, "all", false, "plan what has an answer, too; --results teach durations only")
	fl.Float64Var(&o.req.Minutes, "minutes", 60, "expected `minutes` of one shard")
	fl.IntVar(&o.req.Most, "most", 0, "at most `N` shards (default and limit 240: a matrix has 256 jobs)")
	fl.StringVar(&o.format, "format", "terminal", "terminal, json or matrix")
	fl.BoolVar(&o.github, "github", false, "set the outputs count, matrix, todo and expected-usd of a workflow's step")
	return c
}

func planRun(ctx context.Context, o *planOptions) error {
	f := o.run.f
	if o.format != "terminal" && o.format != "json" && o.format != "matrix" {
		return assay.Userf("there is no format %q (there are terminal, json and matrix)", o.format)
	}
	o.req.Out = o.run.req.Out
	if o.history != "" {
		o.req.History = &flow.HistoryPlace{Branch: o.branch}
		if o.history != "auto" {
			o.req.History.Remote = o.history
		}
	}
	req, err := f.Flow.Request(o.run.config, o.run.request(), words(o.run.agents))
	if err != nil {
		return err
	}
	o.req.Request = req
	s, err := f.Flow.Plan(ctx, o.req)
	if err != nil {
		return err
	}
	if err := o.print(s); err != nil || !o.github {
		return err
	}
	return o.outputs(s)
}

func (o *planOptions) print(s flow.Shards) error {
	out := o.run.f.Streams.Out
	switch o.format {
	case "json":
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(s)
	case "matrix":
		text, err := s.Matrix()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, text)
		return err
	}
	return flow.WriteShards(out, s)
}

func (o *planOptions) outputs(s flow.Shards) error {
	matrix, err := s.Matrix()
	if err != nil {
		return err
	}
	if o.run.f.Outputs == nil {
		return assay.Userf("--github sets outputs of a workflow's step, and this is none")
	}
	for _, kv := range [][2]string{
		{"count", strconv.Itoa(s.Count)}, {"matrix", matrix}, {"todo", strconv.Itoa(s.Todo)},
		{"expected-usd", strconv.FormatFloat(s.USD, 'f', 2, 64)},
	} {
		if err := o.run.f.Outputs.Set(kv[0], kv[1]); err != nil {
			return err
		}
	}
	return nil
}

type mergeOptions struct {
	f   *Factory
	req flow.MergeRequest
}

func newMerge(f *Factory, runF func(context.Context, *mergeOptions) error) *cobra.Command {
	o := &mergeOptions{f: f}
	c := &cobra.Command{
		Use:   "merge OUT DIR...",
		Short: "Join the results folders of a run's shards into one",
		Long: `Copies the attempts of results folders into OUT, which may have some already,
and joins their plans. An attempt that is there is left alone, so that the same
command twice changes nothing. 'assay report OUT' prints the whole.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			o.req.Out, o.req.Dirs = args[0], args[1:]
			return runF(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.req.Planned, "planned", false, "keep OUT's plan as it is and take only attempts of its trials")
	return c
}

func mergeRun(_ context.Context, o *mergeOptions) error {
	m, err := o.f.Flow.Merge(o.req)
	if err != nil {
		return err
	}
	for _, p := range m.Problems {
		say(o.f, "%s\n", p)
	}
	_, err = fmt.Fprintf(o.f.Streams.Out, "%s merged into %s: %d new, %d as before.\n",
		count(m.Folders, "folder", "folders"), o.req.Out, m.Attempts, m.Same)
	return err
}
