package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/flow"
)

// Build is what this program knows of its own making. Commit is "" where it
// isn't known or doesn't hold all of the program.
type Build struct{ Repository, Commit string }

type initOptions struct {
	f            *Factory
	req          flow.InitRequest
	write, force bool
	check        bool
}

func newInit(f *Factory, runF func(context.Context, *initOptions) error) *cobra.Command {
	o := &initOptions{f: f}
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Set up a repository: its configuration and its GitHub workflows",
		Long: `Looks at a repository (language, tests, default branch, what was merged when),
shows the files that put assay to work there as a diff, and writes them with
--write or after a yes. A file that is there is never overwritten without
--force. The workflows call assay's own ones, pinned to one commit.

--check writes nothing and says what has drifted since: exit status 1.`,
		Example: `  assay init
  assay init --write --since 2026-01-01
  assay init --check`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.req.Dir = args[0]
			}
			return runF(c.Context(), o)
		},
	}
	fl := c.Flags()
	fl.BoolVar(&o.write, "write", false, "write the files that are missing")
	fl.BoolVar(&o.force, "force", false, "with --write: overwrite files that differ")
	fl.BoolVar(&o.check, "check", false, "write nothing, and fail if something is missing, differs or is wrong")
	fl.StringVar(&o.req.Since, "since", "", "cutoff for mining, a `date` or an age (default: by what was merged)")
	fl.StringVar(&o.req.Pin.SHA, "pin", "", "`commit` of assay that the workflows call (default: this program's own)")
	fl.StringVar(&o.req.Pin.Version, "pin-version", "", "`version` of that commit, for people (default: this program's own)")
	fl.StringVar(&o.req.Pin.Repository, "pin-repository", "", "`owner/name` of assay (default: assaybot/assay)")
	return c
}

func initRun(ctx context.Context, o *initOptions) error {
	if err := o.pin(); err != nil {
		return err
	}
	in, err := o.f.Flow.Init(ctx, o.req)
	if err != nil {
		return err
	}
	if o.check {
		return o.drift(in)
	}
	if err := flow.WriteChanges(o.f.Streams.Out, in); err != nil {
		return err
	}
	for _, p := range in.Problems {
		say(o.f, "%s\n", p)
	}
	return o.settle(in)
}

// pin fills in this program's own commit.
func (o *initOptions) pin() error {
	p := &o.req.Pin
	if o.check && (o.write || o.force) {
		return usageError{err: fmt.Errorf("--check writes nothing; leave out --write and --force"), cmd: "assay init"}
	}
	p.Repository = cmp.Or(p.Repository, o.f.Build.Repository, "assaybot/assay")
	if p.SHA == "" {
		p.SHA, p.Version = o.f.Build.Commit, cmp.Or(p.Version, o.f.Version)
	}
	if p.SHA == "" {
		return assay.Userf("this program doesn't know the commit it was built from; name the one that workflows should call with --pin and its 40 hex digits")
	}
	p.Version = cmp.Or(p.Version, "commit-"+p.SHA[:min(12, len(p.SHA))])
	return p.Check()
}

func (o *initOptions) drift(in flow.Init) error {
	drifted := in.Drifted()
	for _, c := range drifted {
		if _, err := fmt.Fprintf(o.f.Streams.Out, "%s: %s\n%s", c.File.Path, c.State, c.Diff); err != nil {
			return err
		}
	}
	for _, p := range in.Problems {
		if _, err := fmt.Fprintln(o.f.Streams.Out, p); err != nil {
			return err
		}
	}
	if len(drifted)+len(in.Problems) == 0 {
		_, err := fmt.Fprintln(o.f.Streams.Out, "Nothing has drifted.")
		return err
	}
	say(o.f, "'assay init --write' writes what is missing, with --force also what differs.\n")
	return errSilent{ExitNotAll}
}

// settle writes if that is wanted, and says what comes next.
func (o *initOptions) settle(in flow.Init) error {
	todo, kept := 0, 0
	for _, c := range in.Changes {
		switch {
		case len(c.Diff) == 0:
		case c.State == "missing" || o.force:
			todo++
		default:
			kept++
		}
	}
	out := o.f.Streams.Out
	if todo == 0 {
		_, err := fmt.Fprintf(out, "\nNothing to write%s.\n", keeps(kept))
		return err
	}
	if !o.write && !o.agreed(todo) {
		_, err := fmt.Fprintf(out, "\nNothing was written. 'assay init --write' writes %s%s.\n", count(todo, "file", "files"), keeps(kept))
		return err
	}
	written, err := in.Write(o.force)
	for _, p := range written {
		if _, err := fmt.Fprintln(out, "wrote", p); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\n%s written%s.\n%s", count(len(written), "file", "files"), keeps(kept), initNext)
	return err
}

func keeps(n int) string {
	if n == 0 {
		return ""
	}
	return "; " + count(n, "file that differs is", "files that differ are") + " kept (--force overwrites)"
}

// agreed asks the person at a terminal; where nobody is, the answer is no.
func (o *initOptions) agreed(n int) bool {
	if !o.f.Streams.Terminal || o.f.Streams.In == nil {
		return false
	}
	say(o.f, "\nWrite %s? [y/N] ", count(n, "file", "files"))
	line, err := bufio.NewReader(io.LimitReader(o.f.Streams.In, 100)).ReadString('\n')
	if err != nil && line == "" {
		return false
	}
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes"
}

const initNext = `Next:
  1. Look at .github/assay.yml: the cutoff, the agents, the budget.
  2. assay mine --config .github/assay.yml
     assay build candidates.jsonl --config .github/assay.yml
     assay validate tasks
  3. Add the keys of your agents' models as secrets of the repository, under
     the names that the workflows hand on (gh secret set ANTHROPIC_API_KEY).
  4. Commit .github, tasks and candidates.jsonl to the default branch.
`
