package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/assaybot/assay/internal/flow"
)

// render is how reports are drawn on this door's output.
func (f *Factory) render() flow.Render {
	return flow.Render{Width: f.Streams.Width, Color: f.Streams.Color}
}

type reportOptions struct {
	f      *Factory
	dir    string
	format string
	out    string
}

func newReport(f *Factory, runF func(context.Context, *reportOptions) error) *cobra.Command {
	o := &reportOptions{f: f}
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Print the tables of a results folder, from its files alone",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.dir = args[0]
			return runF(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.format, "format", "terminal", "terminal, markdown, json, csv or junit")
	c.Flags().StringVar(&o.out, "output", "", "write to this `file`")
	return c
}

func reportRun(_ context.Context, o *reportOptions) (err error) {
	if err := flow.KnownFormat(o.format); err != nil {
		return err
	}
	if o.out == "" {
		return o.f.Flow.Report(o.dir, o.format, o.f.render(), o.f.Streams.Out)
	}
	file, err := os.Create(o.out)
	if err != nil {
		return err
	}
	defer func() {
		if e := file.Close(); err == nil {
			err = e
		}
	}()
	return o.f.Flow.Report(o.dir, o.format, flow.Render{}, file)
}

type gradeOptions struct {
	f       *Factory
	dir     string
	tasks   string
	sandbox string
	jobs    int
}

func newGrade(f *Factory, runF func(context.Context, *gradeOptions) error) *cobra.Command {
	o := &gradeOptions{f: f}
	c := &cobra.Command{
		Use:   "grade DIR",
		Short: "Score the kept attempts of a results folder again, without running agents",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.dir = args[0]
			return runF(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.tasks, "tasks", "", "`folder` of the suite (default: the one of the run)")
	c.Flags().StringVar(&o.sandbox, "sandbox", "", "auto, docker or local (default: that of the run)")
	c.Flags().IntVar(&o.jobs, "jobs", 2, "attempts at the same time")
	return c
}

func gradeRun(ctx context.Context, o *gradeOptions) error {
	sum, err := o.f.Flow.Grade(ctx, flow.GradeRequest{Dir: o.dir, Tasks: o.tasks, Sandbox: o.sandbox, Jobs: o.jobs}, o.f.Streams.Err)
	if err != nil {
		return err
	}
	if err := o.f.Flow.Report(o.dir, "terminal", o.f.render(), o.f.Streams.Out); err != nil {
		return err
	}
	say(o.f, "%s graded again, %d changed.\n", count(sum.Graded, "attempt", "attempts"), sum.Changed)
	if sum.Skipped > 0 {
		say(o.f, "%s could not be graded:\n%s", count(sum.Skipped, "attempt", "attempts"), sum.Reasons)
		return errSilent{ExitNotAll}
	}
	return nil
}
