package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assaybot/assay/internal/flow"
)

func newHistory(f *Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "history",
		Short: "Keep what runs came to on a branch, and tell trends from it",
		Long: `Results are kept on the branch "assay" of a git remote, one file per run, one
line per trial. 'assay plan --history' reads it: what has an answer isn't run
again, and what the month has cost counts.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newHistoryPush(f, historyPushRun), newHistoryShow(f, historyShowRun))
	for _, sub := range c.Commands() {
		sub.Args = usageArgs(sub)
	}
	return c
}

func placeFlags(fl *pflag.FlagSet, p *flow.HistoryPlace) {
	fl.StringVar(&p.Remote, "remote", "", "`address` or folder of the repository (default: that of the workflow, else the origin of this folder)")
	fl.StringVar(&p.Branch, "branch", flow.HistoryBranch, "`branch` that holds the history")
}

type historyPushOptions struct {
	f   *Factory
	req flow.HistoryPush
}

func newHistoryPush(f *Factory, runF func(context.Context, *historyPushOptions) error) *cobra.Command {
	o := &historyPushOptions{f: f}
	c := &cobra.Command{
		Use:   "push DIR",
		Short: "Post a results folder to the history",
		Long: `Adds a results folder to the history branch, which is made if it isn't there.
The same run posted again changes nothing; what a later part of it adds is
added. Where somebody else pushes at the same time both stay. In a workflow
GITHUB_TOKEN needs contents: write.`,
		Example: `  assay history push results/nightly --key nightly
  assay history push results/run-1a2b --remote ../store.git`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.req.Dir = args[0]
			return runF(c.Context(), o)
		},
	}
	fl := c.Flags()
	placeFlags(fl, &o.req.HistoryPlace)
	fl.StringVar(&o.req.ID, "run", "", "`name` of the run, such as the workflow run's number (default: one made of the results)")
	fl.StringVar(&o.req.Key, "key", "", "`name` of the series, such as nightly")
	fl.StringVar(&o.req.Commit, "commit", "", "`commit` that was measured (default: that of the workflow)")
	return c
}

func historyPushRun(ctx context.Context, o *historyPushOptions) error {
	p, err := o.f.Flow.PushHistory(ctx, o.req)
	if err != nil {
		return err
	}
	out := o.f.Streams.Out
	if p.File == "" {
		_, err = fmt.Fprintln(out, "Nothing new: the history has all of it.")
		return err
	}
	_, err = fmt.Fprintf(out, "%s added to %s as %s; %d were there.\n", count(p.New, "trial", "trials"), o.req.Branch, p.File, p.Known)
	if err == nil && len(p.Dropped) > 0 {
		_, err = fmt.Fprintf(out, "%s dropped for room, the oldest first.\n", count(len(p.Dropped), "file", "files"))
	}
	return err
}

type historyShowOptions struct {
	f      *Factory
	req    flow.HistoryShow
	failOn []string
}

func newHistoryShow(f *Factory, runF func(context.Context, *historyShowOptions) error) *cobra.Command {
	o := &historyShowOptions{f: f}
	c := &cobra.Command{
		Use:   "show",
		Short: "Show trends, and what is worse than before",
		Long: `Shows every agent, model, effort and variant of the history: its newest rate
with its interval, the difference to the last answers before over the tasks
that both finished unchanged, and the trend. It says how old the last run is.
Where nothing is proven the verdict is ~.`,
		Example: `  assay history show --key nightly
  assay history show --key nightly --fail-on regression,stale --format markdown`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runF(c.Context(), o) },
	}
	fl := c.Flags()
	placeFlags(fl, &o.req.HistoryPlace)
	fl.StringVar(&o.req.Key, "key", "", "`name` of the series (default: all runs)")
	fl.IntVar(&o.req.Last, "last", 14, "draw trends of this `number` of runs")
	fl.DurationVar(&o.req.Stale, "stale", 36*time.Hour, "`age` from which the last run is too old")
	fl.StringVar(&o.req.Format, "format", "terminal", "terminal, markdown or json")
	fl.StringSliceVar(&o.failOn, "fail-on", nil, "exit with status 1 on: `regression`, stale")
	return c
}

func historyShowRun(ctx context.Context, o *historyShowOptions) error {
	for _, word := range o.failOn {
		if word != "regression" && word != "stale" && word != "never" {
			return usageError{err: fmt.Errorf("--fail-on takes regression and stale, not %q", word), cmd: "assay history show"}
		}
	}
	s, err := o.f.Flow.ShowHistory(ctx, o.req, o.f.Streams.Out, o.f.Streams.Err)
	if err != nil {
		return err
	}
	if slices.Contains(o.failOn, "regression") && s.Worse() || slices.Contains(o.failOn, "stale") && s.Stale {
		return errSilent{ExitNotAll}
	}
	return nil
}
