package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/assaybot/assay/internal/plain"
)

const gap = 2 // blanks between columns

// leastText is the width below which a column of text isn't squeezed.
const leastText = 24

// screen writes to a terminal of a width. The measure of runes is fixed, so
// that no locale changes the bytes.
type screen struct {
	out   *bytes.Buffer
	width int
	color bool
	runes *runewidth.Condition
}

func terminal(out *bytes.Buffer, r Report, s Style) {
	p := &screen{out: out, width: s.Width, color: s.Color,
		runes: &runewidth.Condition{StrictEmojiNeutral: true}}
	p.line(p.paint(clean(r.Title), bold))
	p.line(p.paint(r.Summary, summaryColor(r)))
	if r.Suite != "" {
		p.line("suite " + clean(r.Suite))
	}
	for _, n := range r.Notes {
		p.wrap(n, "")
	}
	for _, t := range tables(r) {
		p.line("")
		p.line(p.paint(t.title, bold))
		if t.list {
			p.list(t)
		} else {
			p.table(t)
		}
		if t.note != "" {
			p.wrap(t.note, "")
		}
	}
}

const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func summaryColor(r Report) string {
	if r.Complete {
		return green
	}
	return yellow
}

// tone is the colour of a cell that is one of the report's own words.
func tone(cell string) string {
	word, _, _ := strings.Cut(cell, " ")
	switch strings.TrimSuffix(word, ":") {
	case "passed", "better", "no_worse":
		return green
	case "failed", "worse", "integrity", "agent_error", "limit", "refused":
		return red
	case "infra", "not_run", "cancelled":
		return yellow
	}
	return ""
}

func (p *screen) paint(s, code string) string {
	if !p.color || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *screen) line(s string) {
	p.out.WriteString(strings.TrimRight(s, " "))
	p.out.WriteByte('\n')
}

// table squeezes texts to the width; where that isn't enough it shows the
// columns in several parts, each with the names of the rows.
func (p *screen) table(t table) {
	cells := make([][]string, 0, len(t.rows)+1)
	head := make([]string, len(t.cols))
	for i, c := range t.cols {
		head[i] = c.head
	}
	cells = append(cells, head)
	for _, row := range t.rows {
		clear := make([]string, len(row))
		for i, c := range row {
			clear[i] = plain.Line(c, maxCell)
		}
		cells = append(cells, clear)
	}
	widths := p.widths(cells)
	p.squeeze(t, widths)
	for i, part := range p.parts(widths) {
		if i > 0 {
			p.line("")
		}
		p.part(t, cells, widths, part)
	}
}

func (p *screen) widths(cells [][]string) []int {
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, c := range row {
			widths[i] = max(widths[i], p.measure(c))
		}
	}
	return widths
}

// measure is the number of columns that s takes.
func (p *screen) measure(s string) int {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return p.runes.StringWidth(s)
		}
	}
	return len(s) // plain ASCII without control characters
}

func total(widths []int) int {
	n := gap * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}

// squeeze takes from the widest column of text until all fit. Where that would
// leave too little of a text, the columns will be split instead, and a text
// may take two fifths of the width.
func (p *screen) squeeze(t table, widths []int) {
	if p.width <= 0 {
		return
	}
	whole := slices.Clone(widths)
	for total(widths) > p.width {
		at := -1
		for i, w := range widths {
			if !t.cols[i].right && w > leastText && (at < 0 || w > widths[at]) {
				at = i
			}
		}
		if at < 0 {
			most := max(p.width*2/5, leastText)
			for i, w := range whole {
				widths[i] = min(w, most)
			}
			return
		}
		widths[at]--
	}
}

// parts splits the columns so that each part fits; column 0 stands in each.
func (p *screen) parts(widths []int) [][]int {
	var parts [][]int
	part, used := []int{0}, widths[0]
	for i := 1; i < len(widths); i++ {
		if p.width > 0 && used+gap+widths[i] > p.width && len(part) > 1 {
			parts = append(parts, part)
			part, used = []int{0}, widths[0]
		}
		part, used = append(part, i), used+gap+widths[i]
	}
	return append(parts, part)
}

func (p *screen) part(t table, cells [][]string, widths, part []int) {
	for n, row := range cells {
		var b strings.Builder
		rule := 0
		for i, at := range part {
			if i > 0 {
				b.WriteString(strings.Repeat(" ", gap))
				rule += gap
			}
			b.WriteString(p.cell(row[at], widths[at], t.cols[at].right, n > 0))
			rule += widths[at]
		}
		p.line(b.String())
		if n == 0 {
			p.line(strings.Repeat("-", rule))
		}
	}
}

func (p *screen) cell(s string, width int, right, body bool) string {
	s = p.elide(s, width)
	pad := strings.Repeat(" ", max(width-p.measure(s), 0))
	if body {
		s = p.paint(s, tone(s))
	}
	if right {
		return pad + s
	}
	return s + pad
}

// elide takes from the middle of what is too wide: names differ at their ends.
func (p *screen) elide(s string, width int) string {
	if p.measure(s) <= width {
		return s
	}
	head := p.runes.Truncate(s, (width-1)/2, "")
	room := width - 1 - p.measure(head)
	tail := []rune(s)
	at, used := len(tail), 0
	for at > 0 && used+p.runes.RuneWidth(tail[at-1]) <= room {
		at--
		used += p.runes.RuneWidth(tail[at])
	}
	return head + "…" + string(tail[at:])
}

// shownRows is how many rows of a name a terminal shows: a trial that missed
// forty clauses is understood after a few, and the other formats have all.
const shownRows = 3

// list shows rows below each other: the name once, then what each row says.
func (p *screen) list(t table) {
	for i := 0; i < len(t.rows); {
		name := listName(t, t.rows[i])
		n := 1
		for i+n < len(t.rows) && listName(t, t.rows[i+n]) == name {
			n++
		}
		p.wrap(name, "")
		for _, row := range t.rows[i : i+min(n, shownRows)] {
			p.item(t, row)
		}
		if n > shownRows {
			p.line(fmt.Sprintf("  and %d more; the other formats list all", n-shownRows))
		}
		i += n
	}
}

// item is one row: its first text is the headline, the others are joined
// below it.
func (p *screen) item(t table, row []string) {
	first := len(row) - listTexts(t)
	var texts []string
	for i := first; i < len(row); i++ {
		if text := plain.Line(row[i], maxCell); text != "" {
			texts = append(texts, text)
		}
	}
	if len(t.cols) > 3 {
		texts = missTexts(row, first)
	}
	for i, text := range texts {
		if i == 0 {
			p.wrap("  - "+text, "      ")
			continue
		}
		p.wrap("      "+text, "      ")
	}
}

// missTexts are the lines of a miss: the clause first, since that is what a
// person asks for, then which test of which check said so.
func missTexts(row []string, first int) []string {
	text := func(i int) string { return plain.Line(row[first+i], maxCell) }
	check, clause, test, message := text(0), text(1), text(2), text(3)
	where := strings.Join(slices.DeleteFunc([]string{check, test, message}, func(s string) bool { return s == "" }), ": ")
	if clause == "" {
		return []string{where}
	}
	return []string{clause, where}
}

// listTexts is the number of columns at the end that are texts of their own.
func listTexts(t table) int {
	if len(t.cols) > 3 {
		return len(t.cols) - 3
	}
	return 1
}

func listName(t table, row []string) string {
	name := clean(row[0])
	if len(t.cols) > 3 {
		name += " #" + row[1] + ": " + row[2]
	}
	return name
}

// wrap breaks s at blanks to fit; the lines after the first begin with
// indent.
func (p *screen) wrap(s, indent string) {
	if p.width <= 0 {
		p.line(s)
		return
	}
	rest := s
	for lead := ""; rest != ""; lead = indent {
		room := max(p.width-len(lead), 20)
		at := p.breakAt(rest, room)
		p.line(lead + rest[:at])
		rest = strings.TrimLeft(rest[at:], " ")
	}
}

// breakAt is the byte at which s must end to fit room columns: after a word
// where there is one.
func (p *screen) breakAt(s string, room int) int {
	if p.measure(s) <= room {
		return len(s)
	}
	used, blank := 0, 0
	for i, r := range s {
		if used += p.runes.RuneWidth(r); used > room && i > 0 {
			if blank > 0 {
				return blank
			}
			return i
		}
		if r == ' ' && strings.TrimSpace(s[:i]) != "" {
			blank = i
		}
	}
	return len(s)
}
