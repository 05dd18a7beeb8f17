package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/flow"
)

type mineOptions struct {
	f      *Factory
	config string
	req    flow.MineRequest
	format string
}

func newMine(f *Factory, runF func(context.Context, *mineOptions) error) *cobra.Command {
	o := &mineOptions{f: f}
	c := &cobra.Command{
		Use:   "mine",
		Short: "Find possible tasks among what was merged into a repository since a date",
		Long: `Looks at every change of the main line since a date, and makes a candidate of
each merged pull request that touches source and tests. What can't be a task
is kept in the file with its reason. The same command again looks only at what
is new, and keeps what reviewers, builds and validation said.

A folder is mined from its commits alone. Of OWNER/NAME, or a repository's
address on GitHub, the texts come from GitHub: issues as they stood before the
work on them began. That needs a token in GITHUB_TOKEN or GH_TOKEN.`,
		Example: `  assay mine --repo . --since 2025-09-01
  assay mine --repo acme/shop --since 2025-09-01 --source pulls,issues
  assay mine --repo acme/shop --clone ~/src/shop --server https://github.example.com --since 90d
  assay mine --repo ~/src/thing --since 90d --base cutoff --out thing.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runF(c.Context(), o) },
	}
	fl := c.Flags()
	fl.StringVar(&o.config, "config", "", "configuration `file` whose part \"mine\" says what the flags don't")
	fl.StringVar(&o.req.Repo, "repo", ".", "`path`, address or OWNER/NAME of the repository")
	fl.StringVar(&o.req.Clone, "clone", "", "`path` of a clone of OWNER/NAME (default: one is kept in the cache)")
	fl.StringSliceVar(&o.req.Source, "source", []string{flow.SourcePulls}, "what candidates are made of: `pulls`, or pulls,issues (open issues wait; they are never built)")
	fl.StringVar(&o.req.Server, "server", "", "`address` of the GitHub server (default: $GITHUB_SERVER_URL, or github.com)")
	fl.StringVar(&o.req.API, "api", "", "`address` of its API (default: $GITHUB_API_URL, or that of the server)")
	fl.StringVar(&o.req.Since, "since", "", "merged after this `date`: 2025-09-01, RFC 3339, or an age such as 90d")
	fl.StringVar(&o.req.Until, "until", "", "merged no later than this `date`")
	fl.StringVar(&o.req.Branch, "branch", "", "the main line (default: the repository's default branch)")
	fl.StringVar(&o.req.Base, "base", "", "what a task starts from: `parent` (the commit before the change) or cutoff (the last one before --since, for all) (default parent)")
	fl.StringVar(&o.req.Out, "out", "candidates.jsonl", "`file` of candidates")
	fl.StringVar(&o.req.URL, "url", "", "the repository's page, for links (default: made of its origin)")
	fl.StringVar(&o.format, "format", "table", "table or json")
	return c
}

func mineRun(ctx context.Context, o *mineOptions) error {
	if o.format != "table" && o.format != "json" {
		return assay.Userf("there is no format %q (there are table and json)", o.format)
	}
	if err := o.configured(); err != nil {
		return err
	}
	sum, err := o.f.Flow.Mine(ctx, o.req)
	if err != nil {
		return err
	}
	for _, n := range sum.Notes {
		say(o.f, "note: %s\n", plainLine(n))
	}
	out := o.f.Streams.Out
	if o.format == "json" {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(sum)
	}
	if len(sum.Candidates) == 0 {
		_, err := fmt.Fprintf(out, "Nothing was merged into %s since %s; take an earlier --since, or another --branch.\n", sum.Repo, sum.Since.Format("2006-01-02"))
		return err
	}
	return o.table(out, sum)
}

// configured takes from the configuration what no flag said.
func (o *mineOptions) configured() error {
	m, err := flow.Mining(o.config)
	if err != nil {
		return err
	}
	r := &o.req
	r.Since, r.Until = cmp.Or(r.Since, m.Since), cmp.Or(r.Until, m.Until)
	r.Branch, r.Base = cmp.Or(r.Branch, m.Branch), cmp.Or(r.Base, m.Base)
	return nil
}

func (o *mineOptions) table(w io.Writer, sum flow.MineSummary) error {
	var b strings.Builder
	shown := 0
	for _, c := range sum.Candidates {
		if c.Status == assay.StatusRejected || c.Status == assay.StatusQuarantined || c.Reason == assay.ReasonOpenIssue {
			continue
		}
		if shown++; shown == 1 {
			b.WriteString(mineRow("id", "language", "source", "tests", "text", "doubts", "title") + "\n")
		}
		b.WriteString(fit(candidateRow(c), o.f.Streams.Width) + "\n")
	}
	if shown > 0 {
		b.WriteByte('\n')
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if err := flow.WriteYield(w, sum.Yield, "terminal"); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s looked at: %d new, %d changed, %d as before. Written to %s.\n%s",
		count(sum.Looked, "commit", "commits"), len(sum.Added), len(sum.Changed), sum.Same, sum.File, nextSteps(sum.File, shown))
	return err
}

func nextSteps(file string, open int) string {
	if open == 0 {
		return "None of them can be a task.\n"
	}
	return fmt.Sprintf("Next: assay review %s\n  or: assay build %s --tasks tasks\n", file, file)
}

func candidateRow(c assay.Candidate) string {
	source, tests := 0, 0
	for _, f := range c.Files {
		switch f.Class {
		case assay.ClassSource:
			source++
		case assay.ClassTest:
			tests++
		case assay.ClassInline:
			source, tests = source+1, tests+1
		}
	}
	return mineRow(c.ID, c.Language, strconv.Itoa(source), strconv.Itoa(tests), c.Statement.Origin, strconv.Itoa(len(c.Doubts)), plainLine(c.Title))
}

func mineRow(id, language, source, tests, text, doubts, title string) string {
	return fmt.Sprintf("%-14s %-10s %6s %5s  %-5s  %6s  %s", id, language, source, tests, text, doubts, title)
}

// plainLine makes foreign text safe for a terminal: no line break, no control
// or format characters.
func plainLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

// fit cuts a line to the terminal's width; 0 is no terminal.
func fit(line string, width int) string {
	r := []rune(line)
	if width < 20 || len(r) <= width {
		return line
	}
	return string(r[:width-1]) + "…"
}

type yieldOptions struct {
	f           *Factory
	path, tasks string
	format      string
}

func newYield(f *Factory, runF func(context.Context, *yieldOptions) error) *cobra.Command {
	o := &yieldOptions{f: f}
	c := &cobra.Command{
		Use:   "yield FILE-or-DIR",
		Short: "Count what became of candidates, by status and reason",
		Example: `  assay yield candidates.jsonl
  assay yield candidates.jsonl --tasks tasks --format json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.path = args[0]
			return runF(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.tasks, "tasks", "", "`folder` of the tasks, for what validation says")
	c.Flags().StringVar(&o.format, "format", "terminal", "terminal or json")
	return c
}

func yieldRun(_ context.Context, o *yieldOptions) error {
	if err := flow.KnownYieldFormat(o.format); err != nil {
		return err
	}
	y, err := o.f.Flow.Yield(o.path, o.tasks)
	if err != nil {
		return err
	}
	return flow.WriteYield(o.f.Streams.Out, y, o.format)
}
