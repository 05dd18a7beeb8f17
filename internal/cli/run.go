package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/flow"
)

type runOptions struct {
	f      *Factory
	config string
	dryRun bool
	format string
	req    assay.Request
	agents []string
	retry  int
	shard  string
	plan   string
	set    map[string]bool
}

func newRun(f *Factory, runF func(context.Context, *runOptions) error) *cobra.Command {
	o := &runOptions{f: f}
	c := &cobra.Command{
		Use:   "run",
		Short: "Run agents over a suite of tasks and report what they did",
		Long: `Runs every combination of task, variant, agent, model and effort, --repeats
times each. What finished is kept: the same command again goes on where it
stopped. Ctrl-C once finishes what runs; twice stops at once.`,
		Example: `  assay run --agents oracle,nop
  assay run --tasks my/tasks --agents claude-code --models claude-sonnet-4-5 --repeats 3
  assay run --config run.yml --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.set = changed(c)
			if err := positive(c, "repeats", "jobs", "timeout", "max-turns"); err != nil {
				return usageError{err: err, cmd: c.CommandPath()}
			}
			return runF(c.Context(), o)
		},
	}
	o.requestFlags(c.Flags())
	fl := c.Flags()
	fl.IntVar(&o.req.Jobs, "jobs", 0, "trials at the same time (default 2)")
	fl.IntVar(&o.retry, "retries", 2, "further attempts after an infrastructure failure")
	fl.StringVar((*string)(&o.req.Preflight), "preflight", "", "try the references on this machine first: auto (of proven tasks, once a day), always or never (default auto)")
	fl.BoolVar(&o.req.KeepWorkspace, "keep-workspace", false, "keep what the agent left as workspace_after/")
	fl.BoolVar(&o.dryRun, "dry-run", false, "check everything, print the plan, run nothing")
	fl.StringVar(&o.shard, "shard", "", "run only part `i/n` of the plan, from 1/n to n/n; 'assay merge' joins the results")
	fl.StringVar(&o.plan, "plan", "", "with --shard: the `folder` that 'assay plan --out' wrote; it says what is run unless --config does (default: every n-th trial)")
	fl.StringVar(&o.format, "format", "terminal", "format of the closing report: terminal, markdown, json, csv, junit")
	return c
}

// requestFlags say what is run.
func (o *runOptions) requestFlags(fl *pflag.FlagSet) {
	fl.StringVar(&o.config, "config", "", "run configuration `file` (YAML or JSON); flags given here override it")
	fl.StringVar(&o.req.Tasks, "tasks", "", "`folder` of the suite (default: tasks, else the built-in suite)")
	fl.StringSliceVar(&o.req.Task, "task", nil, "only tasks that match this `glob` (repeatable)")
	fl.StringSliceVar(&o.req.Tier, "tier", nil, "only tasks of this `tier`")
	fl.StringSliceVar(&o.agents, "agents", nil, "agents, as `name` or name@version")
	fl.StringSliceVar(&o.req.Models, "models", nil, "`models` for the agents that need one")
	fl.StringSliceVar(&o.req.Efforts, "efforts", nil, "reasoning `efforts`")
	fl.StringSliceVar(&o.req.Variants, "variants", nil, "instruction `variants` (default: baseline)")
	fl.StringVar(&o.req.VarDir, "variants-dir", "", "`folder` of the variants (default: variants, else the built-in ones)")
	fl.IntVar(&o.req.Repeats, "repeats", 0, "times that each cell is run (default 1)")
	fl.StringVar(&o.req.Out, "out", "", "results `folder` (default: results/ and a name made of the request)")
	fl.StringVar(&o.req.Sandbox, "sandbox", "", "auto, docker or local (default auto)")
	fl.Float64Var(&o.req.MaxCostUSD, "max-cost", 0, "stop starting trials once this many `USD` are spent (0: no bound)")
	fl.IntVar(&o.req.Limits.TimeoutSec, "timeout", 0, "`seconds` for one attempt of an agent, over the tasks' own limit")
	fl.IntVar(&o.req.Limits.MaxTurns, "max-turns", 0, "turns for one attempt")
}

func changed(c *cobra.Command) map[string]bool {
	set := map[string]bool{}
	for _, name := range []string{"retries"} {
		set[name] = c.Flags().Changed(name)
	}
	return set
}

// positive refuses zeros that were typed: they would mean "not given".
func positive(c *cobra.Command, names ...string) error {
	var zeros []string
	for _, name := range names {
		if f := c.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "0" {
			zeros = append(zeros, "--"+name)
		}
	}
	if len(zeros) == 0 {
		return nil
	}
	return fmt.Errorf("%s must be more than 0", strings.Join(zeros, ", "))
}

func (o *runOptions) request() assay.Request {
	r := o.req
	for _, p := range []*[]string{&r.Task, &r.Tier, &r.Models, &r.Efforts, &r.Variants} {
		*p = words(*p)
	}
	if o.set["retries"] {
		r.Retries = &o.retry
	}
	return r
}

func runRun(ctx context.Context, o *runOptions) error {
	asked := o.request()
	if o.config == "" {
		planned, err := flow.Planned(o.plan, asked)
		if err != nil {
			return err
		}
		asked = planned
		if len(o.agents) > 0 {
			asked.Agents = nil
		}
	}
	req, err := o.f.Flow.Request(o.config, asked, words(o.agents))
	if err != nil {
		return err
	}
	if err := flow.KnownFormat(o.format); err != nil {
		return err
	}
	shard, err := flow.ParseShard(o.shard, o.plan)
	if err != nil {
		return err
	}
	if o.dryRun {
		return dryRun(ctx, o, req, shard)
	}
	p := newProgress(o.f.Streams, o.f.Flow.Now)
	sum, err := o.f.Flow.RunShard(ctx, o.f.Soft, req, shard, p)
	p.Close()
	if err != nil {
		return err
	}
	return finishRun(o, sum)
}

func finishRun(o *runOptions, sum flow.Summary) error {
	if err := o.f.Flow.Report(sum.Dir, o.format, o.f.render(), o.f.Streams.Out); err != nil {
		return err
	}
	say(o.f, "Results are in %s; 'assay report %s' prints this again.\n", sum.Dir, quoted(sum.Dir))
	switch {
	case sum.Interrupted:
		say(o.f, "Interrupted: the same command again goes on from here.\n")
		return errSilent{ExitInterrupted}
	case sum.Missing > 0:
		say(o.f, "%s could not be run; the reasons are in the report.\n", count(sum.Missing, "trial or task", "trials or tasks"))
		return errSilent{ExitNotAll}
	}
	return nil
}

func dryRun(ctx context.Context, o *runOptions, req assay.Request, s flow.Shard) error {
	plan, err := o.f.Flow.DryRun(ctx, req)
	if err != nil {
		return err
	}
	if plan, err = s.Of(plan); err != nil {
		return err
	}
	if err := flow.WritePlan(o.f.Streams.Out, plan); err != nil {
		return fmt.Errorf("printing the plan: %w", err)
	}
	if len(plan.NotRun) > 0 {
		return errSilent{ExitNotAll}
	}
	return nil
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// quoted is a path as a shell takes it.
func quoted(p string) string {
	if strings.ContainsAny(p, " \t'\"\\$`()&;<>|*?[]#~!") {
		return "'" + strings.ReplaceAll(p, "'", `'"'"'`) + "'"
	}
	return p
}
