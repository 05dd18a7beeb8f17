package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/plain"
	"github.com/assaybot/assay/internal/stat"
)

// Formats lists the formats that Render knows.
func Formats() []string { return []string{"terminal", "markdown", "json"} }

// maxText is the length in runes at which foreign text is cut.
const maxText = 300

// Headline is the verdict in one line of plain text.
func (c Comparison) Headline() string {
	if c.Tasks == 0 {
		return "no verdict: " + c.Reason
	}
	s := fmt.Sprintf("%s: %d/%d resolved, was %d/%d (%s points, 95%% interval %s to %s)", c.word(),
		c.RateB.Resolved, c.RateB.N, c.RateA.Resolved, c.RateA.N, points(c.Diff.Mean), points(c.Diff.Lo), points(c.Diff.Hi))
	if c.Reason != "" {
		s += "; " + c.Reason
	}
	return s
}

func (c Comparison) word() string {
	switch {
	case c.Reason != "":
		return "no verdict"
	case c.Verdict == stat.NoWorse:
		return "no worse by more than " + strings.TrimPrefix(points(c.Margin), "+") + " points"
	case c.Verdict == stat.Unproven:
		return "~ nothing proven"
	}
	return string(c.Verdict)
}

// Render writes c in a format. An unknown format is a user's error.
func Render(c Comparison, format string, w io.Writer) error {
	var text string
	switch format {
	case "terminal", "":
		text = draw(c, terminal{})
	case "markdown":
		text = draw(c, markdown{})
	case "json":
		data, err := json.MarshalIndent(c, "", "  ")
		if err != nil {
			return fmt.Errorf("writing the comparison as JSON: %w", err)
		}
		text = string(data) + "\n"
	default:
		return assay.Userf("unknown format %q of a comparison; known are %s", format, strings.Join(Formats(), ", "))
	}
	_, err := io.WriteString(w, text)
	return err
}

// medium is how the same lines look in a place.
type medium interface {
	title(s string) string
	head(s string) string
	item(depth int, s string) string
	table(rows [][]string) string
	text(s string) string
}

// draw writes what got worse before everything else.
func draw(c Comparison, m medium) string {
	var b strings.Builder
	title := m.text(c.A) + " → " + m.text(c.B)
	if c.Axis != "" {
		title += " (" + c.Axis + ")"
	}
	b.WriteString(m.title(title))
	b.WriteString(m.text(c.Headline()) + "\n")
	if c.Tasks > 0 {
		b.WriteString(m.table(numbers(c)))
	}
	changes(&b, m, "Got worse", c.Worse)
	changes(&b, m, "Got better", c.Better)
	if len(c.LeftOut) > 0 {
		b.WriteString(m.head(fmt.Sprintf("Left out (%d)", len(c.LeftOut))))
		for _, l := range c.LeftOut {
			b.WriteString(m.item(0, m.text(l.What)+" "+m.text(l.Why)))
		}
	}
	if len(c.Notes) > 0 {
		b.WriteString(m.head("Notes"))
		for _, n := range c.Notes {
			b.WriteString(m.item(0, m.text(n)))
		}
	}
	return b.String()
}

func changes(b *strings.Builder, m medium, head string, all []Change) {
	if len(all) == 0 {
		return
	}
	b.WriteString(m.head(fmt.Sprintf("%s (%d)", head, len(all))))
	for _, ch := range all {
		b.WriteString(m.item(0, fmt.Sprintf("%s %d/%d → %d/%d", m.text(ch.Task), ch.A.Passed, ch.A.N, ch.B.Passed, ch.B.N)))
		for _, missed := range ch.Missed {
			b.WriteString(m.item(1, m.text(missed)))
		}
	}
}

// numbers is the table of both sides.
func numbers(c Comparison) [][]string {
	rows := [][]string{{"", c.A, c.B, "difference"}}
	rows = append(rows, []string{"resolved", c.RateA.String(), c.RateB.String(),
		fmt.Sprintf("%s points (%s to %s)", points(c.Diff.Mean), points(c.Diff.Lo), points(c.Diff.Hi))})
	tasks := fmt.Sprintf("%d up, %d down, %d same", len(c.Better), len(c.Worse), c.Same)
	if c.P != nil {
		tasks += "; McNemar p " + strconv.FormatFloat(*c.P, 'f', 3, 64)
	}
	rows = append(rows, []string{"tasks", strconv.Itoa(c.Tasks), strconv.Itoa(c.Tasks), tasks})
	for _, f := range []struct {
		name, before string
		digits       int
		fig          Figure
	}{{"turns", "", 1, c.Turns}, {"cost", "$", 4, c.Cost}, {"seconds", "", 1, c.Seconds}} {
		if f.fig.Tasks > 0 {
			rows = append(rows, f.fig.row(f.name, f.before, f.digits))
		}
	}
	rows = append(rows, []string{"infra", strconv.Itoa(c.MissingA.Infra), strconv.Itoa(c.MissingB.Infra), ""})
	missing := func(m Missing) string { return strconv.Itoa(m.NotRun + m.Cancelled) }
	rows = append(rows, []string{"not run", missing(c.MissingA), missing(c.MissingB), ""})
	if c.Smallest > 0 {
		rows = append(rows, []string{"could see", "", "", points(c.Smallest)[1:] + " points"})
	}
	return rows
}

// String is the rate with its interval.
func (r Count) String() string {
	return fmt.Sprintf("%d/%d, %.1f%% (%.1f–%.1f)", r.Resolved, r.N, 100*r.Rate.Mean, 100*r.Rate.Lo, 100*r.Rate.Hi)
}

func (f Figure) row(name, before string, digits int) []string {
	show := func(x float64) string { return before + strconv.FormatFloat(x, 'f', digits, 64) }
	diff := show(max(f.Diff, -f.Diff))
	switch {
	case f.Diff > 0:
		diff = "+" + diff
	case f.Diff < 0:
		diff = "-" + diff
	}
	return []string{name + " (mean)", show(f.A), show(f.B),
		fmt.Sprintf("%s; %d up, %d down, p %.3f", diff, f.Up, f.Down, f.P)}
}

// points shows a share in percentage points, with its sign.
func points(x float64) string {
	s := strconv.FormatFloat(100*x, 'f', 1, 64)
	switch {
	case s == "-0.0":
		return "0.0"
	case x > 0:
		return "+" + s
	}
	return s
}

type terminal struct{}

func (terminal) title(s string) string { return s + "\n" }
func (terminal) head(s string) string  { return "\n" + s + "\n" }
func (terminal) text(s string) string  { return plain.Line(s, maxText) }
func (terminal) item(depth int, s string) string {
	return strings.Repeat("  ", depth+1) + "- " + s + "\n"
}

func (m terminal) table(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], len([]rune(m.text(cell))))
		}
	}
	var b strings.Builder
	b.WriteString("\n")
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			cell = m.text(cell)
			line += cell + strings.Repeat(" ", widths[i]-len([]rune(cell))+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

type markdown struct{}

func (markdown) title(s string) string { return "## " + s + "\n\n" }
func (markdown) head(s string) string  { return "\n### " + s + "\n\n" }
func (markdown) text(s string) string  { return plain.Inline(s, maxText) }
func (markdown) item(depth int, s string) string {
	return strings.Repeat("  ", depth) + "- " + s + "\n"
}

func (m markdown) table(rows [][]string) string {
	var b strings.Builder
	b.WriteString("\n")
	for i, r := range rows {
		for _, cell := range r {
			b.WriteString("| " + m.text(cell) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(r)) + "|\n")
		}
	}
	return b.String()
}
