package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/assaybot/assay/internal/flow"
)

type variantOptions struct {
	f   *Factory
	req flow.InstructionsRequest
}

func newVariant(f *Factory, runF func(context.Context, *variantOptions) error) *cobra.Command {
	o := &variantOptions{f: f}
	c := &cobra.Command{
		Use:   "variant NAME",
		Short: "Make a variant of a repository's own instructions for agents",
		Long: `Takes the files that coding agents read at the top of a checkout (AGENTS.md,
CLAUDE.md, GEMINI.md, .mcp.json, opencode.json, and the folders .claude, .codex,
.gemini and .opencode) and makes a variant of them, which lays them over the
workspace of every task. Two checkouts make two variants to compare: that is
how the workflow of pull requests measures a change of AGENTS.md.`,
		Example: `  assay variant instructions
  assay variant before --from ../old --into variants`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.req.Name = args[0]
			return runF(c.Context(), o)
		},
	}
	fl := c.Flags()
	fl.StringVar(&o.req.From, "from", ".", "`folder` of the checkout")
	fl.StringVar(&o.req.Into, "into", "variants", "`folder` of the variants")
	return c
}

func variantRun(_ context.Context, o *variantOptions) error {
	in, err := o.f.Flow.Instructions(o.req)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.f.Streams.Out, in)
	return err
}
