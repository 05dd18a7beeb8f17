package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/assaybot/assay/internal/flow"
)

type proposeOptions struct {
	f     *Factory
	req   flow.ProposeRequest
	fetch bool
}

func newPropose(f *Factory, runF func(context.Context, *proposeOptions) error) *cobra.Command {
	o := &proposeOptions{f: f}
	c := &cobra.Command{
		Use:   "propose DIR",
		Short: "Offer mined tasks that were proven as one pull request",
		Long: `Takes a folder that mining left (candidates.jsonl and tasks/), and offers the
tasks that the repository doesn't have as one pull request, which later nights
add to. What people push to its branch stays. Tasks of a pull request that was
closed are not offered again. Only tasks that 'assay validate' proved count.

Without --write it tells what it would do. In a workflow GITHUB_TOKEN needs
contents: write and pull-requests: write. What mining knows is kept on the
history's branch; --fetch gets it for the next night.`,
		Example: `  assay propose mined --fetch
  assay propose mined --write`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.req.Dir = args[0]
			return runF(c.Context(), o)
		},
	}
	fl := c.Flags()
	placeFlags(fl, &o.req.HistoryPlace)
	fl.StringVar(&o.req.Repo, "repo", "", "repository as `owner/name` (default: that of the workflow)")
	fl.StringVar(&o.req.Tasks, "tasks", "tasks", "the suite's `folder` in the repository")
	fl.StringVar(&o.req.From, "from", flow.TasksBranch, "`branch` that the tasks are offered from")
	fl.BoolVar(&o.req.Write, "write", false, "push the branch, and make or update the pull request")
	fl.BoolVar(&o.fetch, "fetch", false, "only write what mining knew last into DIR")
	return c
}

func proposeRun(ctx context.Context, o *proposeOptions) error {
	if o.fetch {
		wrote, err := o.f.Flow.FetchMining(ctx, o.req.HistoryPlace, o.req.Dir)
		if err == nil {
			_, err = fmt.Fprintf(o.f.Streams.Out, "%s of the last mining written to %s.\n", count(len(wrote), "file", "files"), o.req.Dir)
		}
		return err
	}
	sum, err := o.f.Flow.Propose(ctx, o.req)
	if err != nil {
		return err
	}
	return flow.WriteProposed(o.f.Streams.Out, sum, o.req.Write)
}
