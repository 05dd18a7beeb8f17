package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaybot/assay/internal/flow"
)

type lintOptions struct {
	f    *Factory
	dirs []string
}

func newLint(f *Factory, runF func(context.Context, *lintOptions) error) *cobra.Command {
	o := &lintOptions{f: f}
	return &cobra.Command{
		Use:   "lint DIR...",
		Short: "Tell every fault of suites and variants at once, with file and line",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.dirs = args
			return runF(c.Context(), o)
		},
	}
}

func lintRun(_ context.Context, o *lintOptions) error {
	sum, err := o.f.Flow.Lint(o.dirs)
	if err != nil {
		return err
	}
	for _, p := range sum.Problems.Sorted() {
		if _, err := fmt.Fprintln(o.f.Streams.Out, p); err != nil {
			return err
		}
	}
	for _, n := range sum.Notes {
		say(o.f, "%s\n", n)
	}
	say(o.f, "%s, %s, %s\n", count(sum.Tasks, "task", "tasks"), count(sum.Variants, "variant", "variants"), count(len(sum.Problems), "problem", "problems"))
	if len(sum.Problems) > 0 {
		return errSilent{ExitNotAll}
	}
	return nil
}

func newSchema(f *Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "schema NAME",
		Short: "Print the JSON schema of a file: " + strings.Join(flow.Schemas(), ", "),
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := flow.Schema(args[0])
			if err != nil {
				return err
			}
			_, err = f.Streams.Out.Write(text)
			return err
		},
	}
}

type doctorOptions struct{ f *Factory }

func newDoctor(f *Factory, runF func(context.Context, *doctorOptions) error) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can do, and how to get the rest",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return runF(c.Context(), &doctorOptions{f: f}) },
	}
}

func doctorRun(ctx context.Context, o *doctorOptions) error {
	findings := o.f.Flow.Doctor(ctx)
	bad := false
	for _, d := range findings {
		mark := "ok     "
		switch {
		case !d.OK && d.Needed:
			mark, bad = "MISSING", true
		case !d.OK:
			mark = "absent "
		}
		if _, err := fmt.Fprintf(o.f.Streams.Out, "%s  %-14s %s\n", mark, d.Name, d.Text); err != nil {
			return err
		}
		if !d.OK && d.Remedy != "" {
			if _, err := fmt.Fprintf(o.f.Streams.Out, "%25s%s\n", "-> ", d.Remedy); err != nil {
				return err
			}
		}
	}
	if bad {
		return errSilent{ExitNotAll}
	}
	return nil
}

type cleanOptions struct {
	f   *Factory
	all bool
}

func newClean(f *Factory, runF func(context.Context, *cleanOptions) error) *cobra.Command {
	o := &cleanOptions{f: f}
	c := &cobra.Command{
		Use:   "clean",
		Short: "Remove what interrupted runs left in the engine and in the temporary folder",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return runF(c.Context(), o) },
	}
	c.Flags().BoolVar(&o.all, "all", false, "remove kits of agent programs and environment images too")
	return c
}

func cleanRun(ctx context.Context, o *cleanOptions) error {
	removed, err := o.f.Flow.Clean(ctx, o.all)
	for _, r := range removed {
		if _, err := fmt.Fprintln(o.f.Streams.Out, "removed", r); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if len(removed) == 0 {
		_, err = fmt.Fprintln(o.f.Streams.Out, "nothing of assay's was left behind")
	}
	return err
}

type demoOptions struct {
	f       *Factory
	sandbox string
	out     string
}

func newDemo(f *Factory, runF func(context.Context, *demoOptions) error) *cobra.Command {
	o := &demoOptions{f: f}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show the whole road, from mining to the comment on GitHub; needs no keys, no Docker, no network",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return runF(c.Context(), o) },
	}
	c.Flags().StringVar(&o.sandbox, "sandbox", "auto", "auto, docker or local")
	c.Flags().StringVar(&o.out, "out", "", "keep the results in this `folder`")
	return c
}

func demoRun(ctx context.Context, o *demoOptions) error {
	p := newProgress(o.f.Streams, o.f.Flow.Now)
	defer p.Close()
	return o.f.Flow.Demo(ctx, o.f.Soft, flow.DemoRequest{Sandbox: o.sandbox, Out: o.out, Render: o.f.render()}, p, o.f.Streams.Out)
}
