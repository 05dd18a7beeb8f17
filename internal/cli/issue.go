package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/flow"
)

type issueOptions struct {
	f             *Factory
	req           flow.IssueRequest
	begin, answer bool
	scores        string
}

func newIssue(f *Factory, runF func(context.Context, *issueOptions) error) *cobra.Command {
	o := &issueOptions{f: f}
	c := &cobra.Command{
		Use:   "issue [NUMBER]",
		Short: "Answer an issue that was labelled, and keep the answer up to date",
		Long: `With --begin: may the one who set the label start work, and is there any? Sets
the output "go", and tells the issue that it is queued. With --answer: tells it
what mining, building and validation came to. With --scores: brings the answers
of all labelled issues up to date with a results folder.

There is one comment per issue, which is edited. The work is bound to the
commit of the event (--sha).`,
		Example: `  assay issue 12 --begin --actor octocat --sha 4f2c…
  assay issue 12 --answer --mined mined
  assay issue --scores results/nightly`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.number(args); err != nil {
				return err
			}
			return runF(c.Context(), o)
		},
	}
	fl := c.Flags()
	fl.StringVar(&o.req.Repo, "repo", "", "repository as `owner/name` (default: that of the workflow)")
	fl.StringVar(&o.req.Label, "label", flow.IssueLabel, "the `label` that asks for it")
	fl.StringVar(&o.req.SHA, "sha", "", "`commit` that the work is bound to (default: that of the event)")
	fl.StringVar(&o.req.Actor, "actor", "", "with --begin: `login` of who set the label")
	fl.BoolVar(&o.req.Pull, "pull", false, "with --begin: the number is a pull request's; only the actor is looked at")
	fl.StringVar(&o.req.Mined, "mined", "", "with --answer: `folder` that mining left, \"\" if there is none")
	fl.BoolVar(&o.begin, "begin", false, "decide whether the work may begin")
	fl.BoolVar(&o.answer, "answer", false, "tell what became of it")
	fl.StringVar(&o.scores, "scores", "", "tell the scores of this results `folder`")
	c.MarkFlagsMutuallyExclusive("begin", "answer", "scores")
	c.MarkFlagsOneRequired("begin", "answer", "scores")
	return c
}

func (o *issueOptions) number(args []string) error {
	if (len(args) == 0) != (o.scores != "") {
		return usageError{err: fmt.Errorf("the number of an issue goes with --begin and --answer"), cmd: "assay issue"}
	}
	if len(args) == 0 {
		return nil
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 {
		return usageError{err: fmt.Errorf("%q is no number of an issue", args[0]), cmd: "assay issue"}
	}
	o.req.Number = n
	return nil
}

func issueRun(ctx context.Context, o *issueOptions) error {
	f, out := o.f.Flow, o.f.Streams.Out
	switch {
	case o.begin:
		b, err := f.BeginIssue(ctx, o.req)
		if err != nil {
			return err
		}
		return o.began(b)
	case o.answer:
		a, err := f.AnswerIssue(ctx, o.req)
		if err == nil {
			_, err = fmt.Fprintf(out, "#%d: %s\n", a.Number, flow.LogLine(string(a.Stage)+" "+a.Task+a.Why))
		}
		return err
	}
	told, err := f.ScoreIssues(ctx, o.req, o.scores)
	if err == nil {
		_, err = fmt.Fprintf(out, "%s told the scores.\n", count(len(told), "issue", "issues"))
	}
	return err
}

func (o *issueOptions) began(b flow.Begun) error {
	text := "The work begins."
	if !b.Go {
		text = "Nothing is started: " + b.Why + "."
	}
	if _, err := fmt.Fprintln(o.f.Streams.Out, flow.LogLine(text)); err != nil {
		return err
	}
	if o.f.Outputs == nil {
		return assay.Userf("--begin sets an output of a workflow's step, and this is none")
	}
	return o.f.Outputs.Set("go", strconv.FormatBool(b.Go))
}
