package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/assaybot/assay/internal/flow"
)

// ReviewPage is how `assay review` wants its page: where to listen, whether to
// open a browser, and where to print the address.
type ReviewPage struct {
	Listen string
	Open   bool
	Out    io.Writer
}

// ServeReview shows the page over a desk until ctx is done.
type ServeReview func(ctx context.Context, d *flow.Desk, p ReviewPage) error

type reviewOptions struct {
	f      *Factory
	req    flow.ReviewRequest
	listen string
	noOpen bool
}

func newReview(f *Factory, runF func(context.Context, *reviewOptions) error) *cobra.Command {
	o := &reviewOptions{f: f}
	c := &cobra.Command{
		Use:   "review DIR|FILE",
		Short: "Accept or reject mined candidates on a page of this machine, one key each",
		Long: `Serves a page on loopback with one candidate at a time: its statement, the fix
and the tests apart, what speaks against it. A key accepts (a), rejects with a
reason (r), skips (s) or takes back (u); the page works without JavaScript too.
Each decision is on disk, with who and when, before the page counts it. Ctrl-C
ends it; the same command goes on where it was left.`,
		Example: `  assay review candidates.jsonl
  assay review . --who ann@example.com --listen 127.0.0.1:8808 --no-open`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.req.Path = args[0]
			return runF(c.Context(), o)
		},
	}
	fl := c.Flags()
	fl.StringVar(&o.listen, "listen", "127.0.0.1:0", "loopback `address` to serve on; port 0 is any free one")
	fl.StringVar(&o.req.Who, "who", "", "`name` that decisions are recorded under (default: git's user.email, else the user of this machine)")
	fl.StringVar(&o.req.Tasks, "tasks", "", "`folder` of the tasks built from the candidates, to show what 'assay validate' found")
	fl.BoolVar(&o.noOpen, "no-open", false, "only print the address, open no browser")
	return c
}

func reviewRun(ctx context.Context, o *reviewOptions) error {
	if o.req.Who == "" && o.f.Who != nil {
		o.req.Who = o.f.Who(ctx)
	}
	desk, err := o.f.Flow.Review(ctx, o.req)
	if err != nil {
		return err
	}
	say(o.f, "%s to review as %s; Ctrl-C ends it\n", count(desk.List(flow.Filter{}).Progress.Left(), "candidate", "candidates"), desk.Who())
	// The first Ctrl-C ends the page: a decision is never half done.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.f.Soft != nil {
		defer context.AfterFunc(o.f.Soft, cancel)()
	}
	return o.f.ServeReview(ctx, desk, ReviewPage{Listen: o.listen, Open: !o.noOpen && o.f.Streams.Terminal, Out: o.f.Streams.Out})
}
