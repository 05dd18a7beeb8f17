package publish

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/plain"
	"github.com/assaybot/assay/internal/stat"
)

// The most runes of a name, of a requirement and of a remark.
const (
	maxName = 100
	maxWord = 200
)

// openRows is how many changed tasks stand open in a comment: what a phone
// shows without much scrolling.
const openRows = 10

// comment is the pull request's comment. Its first line is the verdict.
func comment(c Context, s Score) string {
	return compose(MaxComment, top(c, s, MaxComment)...) + compose(MaxComment/2, details(c, s)...)
}

// top is what stands open: the verdict, what it is about, what got worse.
func top(c Context, s Score, n int) []block {
	out := []block{text(first(s) + "\n\n" + about(c, s) + "\n")}
	if s.Totals.Missing != "" {
		out = append(out, text("\n⚠️ Incomplete: "+plain.Inline(s.Summary, maxWord)+". The rates leave those out.\n"))
	}
	v := s.Versus
	if v == nil {
		return out
	}
	shown := min(openRows, len(v.Worse))
	rest := v.Worse[shown:]
	out = append(out, block{head: fmt.Sprintf("\n**Got worse (%d)**\n\n", len(v.Worse)), rows: changes(c, v.Worse[:shown]), most: n / 5})
	return append(out, fold(fmt.Sprintf("The other %d that got worse", len(rest)), block{rows: changes(c, rest), most: n / 5}))
}

// first is the verdict with its numbers.
func first(s Score) string {
	t := s.Totals
	switch {
	case t.Trials == 0:
		return "**Nothing to do**: no task was chosen"
	case s.Versus != nil:
		word, rest, _ := strings.Cut(s.Versus.Headline, ":")
		return emoji(s.Versus) + " **" + plain.Inline(capital(word), maxWord) + "**: " + plain.Inline(rest, 2*maxWord)
	case t.N == 0:
		return "**No score**: " + plain.Inline(s.Summary, maxWord)
	}
	return fmt.Sprintf("**%d/%d resolved** (%s)", t.Resolved, t.N, interval(t.Rate))
}

func emoji(v *Versus) string {
	switch {
	case v.Reason != "":
		return "⚪"
	case v.Verdict == stat.Worse:
		return "🔴"
	case v.Verdict == stat.Better, v.Verdict == stat.NoWorse:
		return "🟢"
	}
	return "⚪"
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// interval is a rate with its limits, all in per cent.
func interval(i stat.Interval) string {
	if i.N == 0 {
		return "\\~"
	}
	return fmt.Sprintf("%.1f%%, 95%% interval %.1f–%.1f", 100*i.Mean, 100*i.Lo, 100*i.Hi)
}

// about says which commit, which tasks, and where to look.
func about(c Context, s Score) string {
	var parts []string
	if c.SHA != "" {
		parts = append(parts, "commit "+plain.Code(c.SHA, 8))
	}
	if s.Versus != nil && s.Versus.Base != "" {
		parts = append(parts, "against "+plain.Code(s.Versus.Base, maxName))
	}
	tasks := number(len(s.Tasks), "task", "tasks")
	if len(s.Tasks) > 0 && len(s.Tasks) <= 3 {
		names := make([]string, len(s.Tasks))
		for i, t := range s.Tasks {
			names[i] = plain.Code(t.Name, maxName)
		}
		tasks += " (" + strings.Join(names, ", ") + ")"
	}
	parts = append(parts, tasks)
	if s.Suite != "" {
		parts = append(parts, "suite "+plain.Code(strings.TrimPrefix(s.Suite, "sha256:"), 13))
	}
	if s.Totals.Cost != "" && s.Totals.Cost != "-" {
		parts = append(parts, "cost "+plain.Inline(s.Totals.Cost, maxName))
	}
	for _, l := range []struct{ name, to string }{{"run", c.RunURL}, {"results", c.ArtifactURL}} {
		if link := plain.Link(l.name, l.to); link != l.name {
			parts = append(parts, link)
		}
	}
	return strings.Join(parts, " · ")
}

// changes are rows of a list, one per task.
func changes(c Context, all []Change) rows {
	return each(all, func(ch Change) string {
		return fmt.Sprintf("- %s %s → %s%s\n", plain.Code(ch.Task, maxName), ch.From, ch.To, c.trajectories(ch.Paths)) + few(ch.Missed)
	})
}

// few are the first things that were missed.
func few(missed []string) string {
	out := ""
	for i, m := range missed {
		if i == 3 {
			return out + fmt.Sprintf("  - … and %d more\n", len(missed)-i)
		}
		out += "  - " + plain.Inline(m, maxWord) + "\n"
	}
	return out
}

// trajectories are links to what the agent did, where it can be browsed.
func (c Context) trajectories(paths []string) string {
	var links []string
	for i, p := range paths {
		to := c.trial(p)
		if to == "" || i == 3 {
			break
		}
		name := "trajectory"
		if len(paths) > 1 {
			name = strconv.Itoa(i + 1)
		}
		if link := plain.Link(name, to); link != name {
			links = append(links, link)
		}
	}
	switch {
	case len(links) == 0:
		return ""
	case len(paths) > 1:
		return " · trajectories " + strings.Join(links, " ")
	}
	return " · " + links[0]
}

// trial is the address of an attempt's folder, "" where it has none.
func (c Context) trial(path string) string {
	if c.TrialsURL == "" || path == "" {
		return ""
	}
	to, err := url.JoinPath(c.TrialsURL, strings.Split(path, "/")...)
	if err != nil {
		return ""
	}
	return to
}

// details is what stands folded.
func details(c Context, s Score) []block {
	var out []block
	if v := s.Versus; v != nil {
		out = append(out,
			fold(fmt.Sprintf("Got better (%d)", len(v.Better)), block{rows: changes(c, v.Better), most: 8_000}),
			fold("Cost and turns", block{rows: lines(v.Figures), most: 2_000}))
	}
	return append(out,
		fold("Rates", rates("agent / model / effort / variant", s.Rows, 6_000)),
		fold(fmt.Sprintf("Not resolved (%d)", len(s.Misses)), block{rows: misses(c, s.Misses), most: 10_000}),
		fold(fmt.Sprintf("Not run (%d)", len(s.NotRun)), block{rows: absents(s.NotRun), most: 4_000}),
		fold("By task", rates("task", s.Tasks, 6_000)),
		leftOut(s.Versus),
		fold(fmt.Sprintf("Faults of files (%d)", len(s.Lint)+len(s.Problems)), block{rows: faults(s), most: 4_000}),
		fold("Notes", block{rows: notes(s), most: 3_000}),
	)
}

func leftOut(v *Versus) block {
	if v == nil {
		return block{}
	}
	return fold(fmt.Sprintf("Left out of the comparison (%d)", len(v.LeftOut)), block{rows: absents(v.LeftOut), most: 4_000})
}

func lines(all []string) rows {
	return each(all, func(s string) string { return "- " + plain.Inline(s, 2*maxWord) + "\n" })
}

func notes(s Score) rows {
	if s.Versus == nil {
		return lines(s.Notes)
	}
	return lines(slices.Concat(s.Notes, s.Versus.Notes))
}

// rates is a narrow table: a phone shows four columns.
func rates(what string, all []Row, most int) block {
	return block{head: "| " + what + " | resolved | 95% | cost |\n| --- | ---: | ---: | ---: |\n", most: most, rows: each(all, rateRow)}
}

func rateRow(r Row) string {
	limits := "\\~"
	if r.N > 0 {
		limits = fmt.Sprintf("%.0f–%.0f", 100*r.Rate.Lo, 100*r.Rate.Hi)
	}
	resolved := fmt.Sprintf("%d/%d", r.Resolved, r.N)
	if r.Missing != "" {
		resolved += " (" + plain.Inline(r.Missing, maxName) + ")"
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", plain.Inline(r.Name, maxName), resolved, limits, plain.Inline(r.Cost, maxName))
}

// misses are the agent's failures first, then ours.
func misses(c Context, all []Miss) rows {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Miss) int {
		switch {
		case a.Ours == b.Ours:
			return 0
		case b.Ours:
			return -1
		}
		return 1
	})
	return each(all, func(m Miss) string {
		row := "- " + plain.Code(m.Name, maxName) + " " + plain.Inline(m.Ending, maxName)
		switch link := c.trajectories([]string{m.Path}); {
		case link != "":
			row += link
		case m.Path != "":
			row += ", " + plain.Code(m.Path, 2*maxName)
		}
		return row + "\n" + few(m.Missed)
	})
}

func absents(all []Absent) rows {
	return each(all, func(a Absent) string {
		return "- " + plain.Code(a.What, maxName) + " " + plain.Inline(a.Why, maxWord) + "\n"
	})
}

func faults(s Score) rows {
	return each(slices.Concat(s.Lint, s.Problems), func(p assay.Problem) string {
		return "- " + plain.Inline(p.String(), 2*maxWord) + "\n"
	})
}

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
