package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/assaybot/assay/internal/flow"
)

type publishOptions struct {
	f                  *Factory
	req                flow.PublishRequest
	noCheck, noComment bool
	asked              bool // --comment was given
}

func newPublish(f *Factory, runF func(context.Context, *publishOptions) error) *cobra.Command {
	o := &publishOptions{f: f}
	c := &cobra.Command{
		Use:   "publish DIR",
		Short: "Post a results folder to GitHub: check run, comment, job summary, outputs",
		Long: `Posts the score of a results folder: a check run on the commit, one comment on
the pull request that later runs edit, the job's summary and the step's outputs.

In a GitHub workflow all it needs comes from the environment: GITHUB_TOKEN with
checks: write and pull-requests: write, and the variables that the runner sets.
Without a token, or with one that may not write (a fork's), it writes summary
and outputs only and says so. The check is never red when nothing is proven.`,
		Example: `  assay publish results/pull --compare results/main --fail-on regression
  assay publish results/nightly --repo acme/shop --sha 4f2c… --no-comment --fail-on 'resolve-rate<0.5'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.req.Dir, o.asked = args[0], c.Flags().Changed("comment")
			return runF(c.Context(), o)
		},
	}
	fl := c.Flags()
	fl.StringVar(&o.req.Repo, "repo", "", "repository as `owner/name` (default: that of the workflow)")
	fl.IntVar(&o.req.Number, "pr", 0, "`number` of the pull request (default: that of the event)")
	fl.StringVar(&o.req.SHA, "sha", "", "`commit` that was scored (default: the pull request's head, or that of the event)")
	fl.StringVar(&o.req.FailOn, "fail-on", "never", "what turns the check red: regression, resolve-rate<0.5 or never; several with commas")
	fl.StringVar(&o.req.Base, "compare", "", "results `folder` of the base to compare with")
	fl.Float64Var(&o.req.Margin, "margin", 0, "a loss of rate that wouldn't matter, as a `share` such as 0.05")
	fl.StringVar(&o.req.Tasks, "tasks", "", "suite `folder` whose faults become annotations (default: the run's, if it is here)")
	fl.StringVar(&o.req.Summary, "summary", "", "write the summary to this `file` (default: the step's summary, else standard output)")
	fl.StringVar(&o.req.Name, "name", "assay", "`name` of the check run; scores with other names stand beside each other")
	fl.StringVar(&o.req.ArtifactURL, "artifact-url", "", "web `address` of the results as an artifact")
	fl.StringVar(&o.req.TrialsURL, "trials-url", "", "web `address` of the results folder where it can be browsed")
	fl.BoolVar(&o.req.Check, "check", true, "write the check run")
	fl.BoolVar(&o.req.Comment, "comment", true, "write the comment; given explicitly, on a closed pull request too")
	fl.StringVar(&o.req.Preview, "preview", "", "draw what GitHub will show as a page in this HTML `file`")
	fl.BoolVar(&o.noCheck, "no-check", false, "write no check run")
	fl.BoolVar(&o.noComment, "no-comment", false, "write no comment")
	return c
}

func publishRun(ctx context.Context, o *publishOptions) error {
	o.req.Check = o.req.Check && !o.noCheck
	o.req.Comment = o.req.Comment && !o.noComment
	o.req.AnyClosed = o.asked && o.req.Comment
	return o.f.Flow.Publish(ctx, o.req, o.f.Streams.Out, o.f.Streams.Err)
}
