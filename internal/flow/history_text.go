package flow

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/history"
	"github.com/assaybot/assay/internal/plain"
	"github.com/assaybot/assay/internal/stat"
)

// Alert is the one line that says that a series has stopped, "" if it hasn't.
func (s Shown) Alert() string {
	name := s.Key
	if name == "" {
		name = "any"
	}
	switch {
	case s.Runs == 0:
		return fmt.Sprintf("There is no run of %s in the history yet.", name)
	case s.Stale:
		return fmt.Sprintf("The last run of %s ended %s ago: has its schedule stopped? GitHub stops schedules after 60 quiet days; start the workflow by hand once.",
			name, ago(s.Age))
	}
	return ""
}

// Worse tells whether something is proven to be worse than before.
func (s Shown) Worse() bool {
	for _, l := range s.Lines {
		if l.Verdict == stat.Worse && l.Current {
			return true
		}
	}
	return false
}

func ago(seconds float64) string {
	d := time.Duration(seconds) * time.Second
	switch {
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 72*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

func (s Shown) write(w io.Writer, r HistoryShow) error {
	if r.Format == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(s)
	}
	_, err := io.WriteString(w, s.text(r.Format == "markdown"))
	return err
}

// mostTasks bounds the names of tasks in one line.
const mostTasks = 8

func (s Shown) text(markdown bool) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	show := func(t string) string { return plain.Line(t, 80) }
	if markdown {
		show = func(t string) string { return plain.Inline(t, 80) }
	}
	if alert := s.Alert(); alert != "" {
		say("⚠ %s", show2(markdown, alert))
	}
	if s.Runs == 0 {
		return b.String()
	}
	say("%s, the last %s ago%s. Spent this month: $%.2f%s.", countOf(s.Runs, "run", "runs"), ago(s.Age), commitOf(s.Commit), s.Month, unpriced(s.Unpriced))
	say("")
	rows := [][]string{{"agent", "now", "before → now", "verdict", "trend", "USD/trial"}}
	for _, l := range s.Lines {
		rows = append(rows, l.row())
	}
	table(&b, rows, markdown, show)
	for _, l := range s.Lines {
		if l.Verdict == stat.Worse && len(l.Worse) > 0 {
			say("")
			say("%s is worse on %s.", show(seriesName(l.Cell)), namesOf(l.Worse, show))
		}
	}
	say("")
	say("Each row is the newest run against the last answers before, over the tasks that both finished unchanged; ~ is nothing proven at 95 %%.")
	return b.String()
}

// show2 is a sentence of ours that holds a name of somebody else's.
func show2(markdown bool, s string) string {
	if markdown {
		return plain.Inline(s, 300)
	}
	return plain.Line(s, 300)
}

func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func commitOf(sha string) string {
	if sha == "" {
		return ""
	}
	return " of " + plain.Line(sha[:min(8, len(sha))], 8)
}

func seriesName(c history.Cell) string {
	var parts []string
	for _, p := range []string{c.Agent, c.Model, c.Effort, c.Variant} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, " / ")
}

func namesOf(all []string, show func(string) string) string {
	var out []string
	for i, t := range all {
		if i == mostTasks {
			out = append(out, fmt.Sprintf("%d more", len(all)-i))
			break
		}
		out = append(out, show(t))
	}
	return strings.Join(out, ", ")
}

func (l ShownLine) row() []string {
	now := l.Points[len(l.Points)-1]
	rate := fmt.Sprintf("%d/%d, %.1f%% (%.1f–%.1f)", now.Resolved, now.N, 100*now.Rate.Mean, 100*now.Rate.Lo, 100*now.Rate.Hi)
	if now.Missing > 0 {
		rate += fmt.Sprintf(", %d without an answer", now.Missing)
	}
	diff := "–"
	if l.Tasks > 0 {
		diff = fmt.Sprintf("%+.1f points (%+.1f to %+.1f), %s", 100*l.Diff.Mean, 100*l.Diff.Lo, 100*l.Diff.Hi, countOf(l.Tasks, "task", "tasks"))
	}
	verdict := string(l.Verdict)
	if l.Why != "" && l.Tasks > 0 {
		verdict += " (" + l.Why + ")"
	}
	if !l.Current {
		verdict += " (not in the last run)"
	}
	usd := "–"
	if now.Priced > 0 {
		usd = fmt.Sprintf("%.2f", now.USD)
	}
	return []string{seriesName(l.Cell), rate, diff, verdict, spark(l.Points), usd}
}

// spark draws rates as bars, oldest first.
func spark(points []history.Point) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, p := range points {
		if p.N == 0 {
			b.WriteRune('·')
			continue
		}
		i := int(p.Rate.Mean * float64(len(bars)))
		b.WriteRune(bars[min(max(i, 0), len(bars)-1)])
	}
	return b.String()
}

// table writes rows, the first of which is the head.
func table(b *strings.Builder, rows [][]string, markdown bool, show func(string) string) {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], len([]rune(show(c))))
		}
	}
	for n, r := range rows {
		line := ""
		for i, c := range r {
			c = show(c)
			if markdown {
				line += "| " + c + " "
				continue
			}
			line += c + strings.Repeat(" ", widths[i]-len([]rune(c))+2)
		}
		if markdown {
			line += "|"
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if markdown && n == 0 {
			b.WriteString(strings.Repeat("| --- ", len(r)) + "|\n")
		}
	}
}
