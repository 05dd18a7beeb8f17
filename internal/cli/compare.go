package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/assaybot/assay/internal/flow"
	"github.com/assaybot/assay/internal/stat"
)

type compareOptions struct {
	f      *Factory
	req    flow.CompareRequest
	failOn string
	out    string
}

func newCompare(f *Factory, runF func(context.Context, *compareOptions) error) *cobra.Command {
	o := &compareOptions{f: f}
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Tell whether B is better or worse than A, task by task",
		Long: `Compares two results folders, or with --axis two values within one, over the
tasks that both finished with the same inputs. It says better, worse, no worse
by more than --margin, or ~ where nothing is proven.`,
		Example: `  assay compare results/main results/pull
  assay compare --axis variant --results results/main baseline agents-md`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			o.req.A, o.req.B = args[0], args[1]
			return runF(c.Context(), o)
		},
	}
	fl := c.Flags()
	fl.StringVar(&o.req.Axis, "axis", "", "A and B are values of this `axis`: agent, model, effort or variant")
	fl.StringVar(&o.req.Results, "results", "", "results `folder` whose values of --axis are compared")
	fl.Float64Var(&o.req.Margin, "margin", 0, "a loss of rate that wouldn't matter, as a `share` such as 0.05")
	fl.StringVar(&o.req.Format, "format", "terminal", "terminal, markdown or json")
	fl.StringVar(&o.failOn, "fail-on", "never", "exit with status 1 on: regression or never")
	fl.StringVar(&o.out, "output", "", "write to this `file`")
	return c
}

func compareRun(_ context.Context, o *compareOptions) error {
	if o.failOn != "never" && o.failOn != "regression" {
		return usageError{err: fmt.Errorf("--fail-on is regression or never, not %q", o.failOn), cmd: "assay compare"}
	}
	verdict, err := o.write()
	if err != nil {
		return err
	}
	if o.failOn == "regression" && verdict == stat.Worse {
		return errSilent{ExitNotAll}
	}
	return nil
}

func (o *compareOptions) write() (v stat.Verdict, err error) {
	if o.out == "" {
		return o.f.Flow.Compare(o.req, o.f.Streams.Out)
	}
	file, err := os.Create(o.out)
	if err != nil {
		return "", err
	}
	defer func() {
		if e := file.Close(); err == nil {
			err = e
		}
	}()
	return o.f.Flow.Compare(o.req, file)
}
