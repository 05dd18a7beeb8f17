// Package cli is the command line: it turns flags into a Request, calls one
// use case of flow and prints what comes back. It decides nothing about tasks,
// trials or scores, and reads no environment variable.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/flow"
)

// Exit statuses of the program.
const (
	ExitOK          = 0
	ExitNotAll      = 1 // something could not be run, or a check of ours failed
	ExitUsage       = 2 // a mistake of the person at the keyboard
	ExitInterrupted = 130
)

// Streams are the door's input and output.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Terminal: Err is a terminal, so that progress may be drawn. Width is
	// that of Out in cells, 0 when it is no terminal.
	Terminal bool
	Width    int
	Color    bool
}

// Factory is all that commands need. Soft is done at the first Ctrl-C: what
// runs is finished, nothing new is started.
type Factory struct {
	Streams Streams
	Version string
	Flow    *flow.Flow
	Soft    context.Context
	// ServeReview is the door of the review page, Who the name of the person
	// at the keyboard ("" when unknown).
	ServeReview ServeReview
	Who         func(ctx context.Context) string
	// ServeGateway is the gateway on its own, until ctx is done.
	ServeGateway ServeGateway
	// Outputs are those of the workflow's step that this is, nil for none.
	Outputs Outputs
	// Build is what workflows are pinned to by default.
	Build Build
}

// errSilent ends a command with a status whose reason was printed already.
type errSilent struct{ status int }

func (e errSilent) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// usageError is a mistake in flags or arguments.
type usageError struct {
	err error
	cmd string
}

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// Main runs one command line and returns the exit status.
func Main(ctx context.Context, f *Factory, args []string) int {
	root := newRoot(f)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	return status(f, err)
}

func status(f *Factory, err error) int {
	var silent errSilent
	var usage usageError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &silent):
		return silent.status
	case errors.As(err, &usage):
		say(f, "assay: %v\nRun '%s --help' for usage.\n", usage.err, usage.cmd)
		return ExitUsage
	case errors.Is(err, context.Canceled):
		say(f, "assay: interrupted\n")
		return ExitInterrupted
	case assay.IsUser(err):
		say(f, "assay: %v\n", err)
		return ExitUsage
	}
	say(f, "assay: %v\n", err)
	return ExitNotAll
}

// say prints to the error stream; a failed write there has no remedy.
func say(f *Factory, format string, args ...any) {
	_, _ = fmt.Fprintf(f.Streams.Err, format, args...)
}

func newRoot(f *Factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "A private benchmark from your own repository, for coding agents",
		Long: `assay turns a repository's merged pull requests and issues into a private
benchmark, runs coding agents on it in sandboxes, and reports the scores.

Start with 'assay demo', then 'assay doctor' to see what this machine can do.`,
		SilenceErrors: true, SilenceUsage: true, Version: f.Version,
	}
	root.SetIn(f.Streams.In)
	root.SetOut(f.Streams.Out)
	root.SetErr(f.Streams.Err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{err: nearestFlag(c, err), cmd: c.CommandPath()}
	})
	root.AddCommand(
		newInit(f, initRun), newRun(f, runRun), newPlan(f, planRun), newMerge(f, mergeRun), newHistory(f), newPropose(f, proposeRun), newIssue(f, issueRun), newReport(f, reportRun), newCompare(f, compareRun), newPublish(f, publishRun), newGrade(f, gradeRun), newLint(f, lintRun), newVariant(f, variantRun),
		newMine(f, mineRun), newBuild(f, buildRun), newValidate(f, validateRun), newYield(f, yieldRun), newReview(f, reviewRun),
		newGateway(f, gatewayRun), newSchema(f), newDoctor(f, doctorRun), newClean(f, cleanRun), newDemo(f, demoRun),
	)
	for _, c := range root.Commands() {
		c.Args = usageArgs(c)
	}
	root.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError{err: unknownCommand(c, args[0]), cmd: "assay"}
		}
		return c.Help()
	}
	root.Args = cobra.ArbitraryArgs
	return root
}

func unknownCommand(root *cobra.Command, word string) error {
	names := make([]string, 0, len(root.Commands()))
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	if near := flow.Nearest(word, names); near != "" {
		return fmt.Errorf("there is no command %q; did you mean %q?", word, near)
	}
	return fmt.Errorf("there is no command %q", word)
}

// usageArgs makes a command's argument faults usage errors.
func usageArgs(c *cobra.Command) cobra.PositionalArgs {
	check := c.Args
	return func(c *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(c, args); err != nil {
			return usageError{err: err, cmd: c.CommandPath()}
		}
		return nil
	}
}
