package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// table is what terminal and Markdown both show. The first column names the
// row. Cells are plain text, foreign parts of it not yet escaped. A list has
// long texts: the terminal shows its rows below each other.
type table struct {
	title string
	note  string
	cols  []column
	rows  [][]string
	list  bool
}

type column struct {
	head  string
	right bool
}

// tables lists all tables that hold anything.
func tables(r Report) []table {
	all := []table{
		headline(r), lostTable(r), differenceTable(r), repeatedTable(r), byTask(r),
		by("By variant", r.ByVariant), by("By model", r.ByModel), by("By agent", r.ByAgent),
		missTable(r), absentTable(r), problemTable(r),
	}
	var out []table
	for _, t := range all {
		if len(t.rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// field is a column together with how a row fills it.
type field struct {
	head  string
	right bool
	cell  func(Row) string
}

func build(title string, rows []Row, fields []field) table {
	t := table{title: title}
	for _, f := range fields {
		t.cols = append(t.cols, column{f.head, f.right})
	}
	for _, r := range rows {
		cells := make([]string, len(fields))
		for i, f := range fields {
			cells[i] = f.cell(r)
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

const marks = "95% intervals: W Wilson over trials, T over tasks (clustered), TW Wilson over tasks (all agree), ! few tasks. ~ nothing proven."

func headline(r Report) table {
	fields := rateFields("agent / model / effort / variant", r.Headline)
	fields = append(fields, field{"not passed", false, notPassed})
	fields = append(fields, tokenFields()...)
	t := build("Results", r.Headline, fields)
	t.note = marks
	if r.Totals.Differ {
		t.note += " Tokens: the gateway's count, the program's own in brackets where it differs."
	}
	return t
}

func by(title string, rows []Row) table {
	fields := append(rateFields(strings.ToLower(strings.TrimPrefix(title, "By ")), rows), field{"not passed", false, notPassed})
	return build(title, rows, fields)
}

func byTask(r Report) table {
	fields := append(rateFields("task", r.ByTask), field{"not passed", false, notPassed})
	for _, row := range r.ByTask {
		if row.Strength != nil {
			fields = append(fields, field{"test strength", true, strength})
			break
		}
	}
	return build("By task", r.ByTask, fields)
}

// rateFields are the columns that all tables of rates have; what was missing
// gets its columns only where something was.
func rateFields(what string, rows []Row) []field {
	fields := []field{
		{what, false, func(r Row) string { return r.label() }},
		{"trials", true, func(r Row) string { return strconv.Itoa(r.Trials) }},
		{"resolved", true, func(r Row) string { return fmt.Sprintf("%d/%d", r.Resolved, r.N) }},
		{"rate", true, func(r Row) string { return rate(r.Rate) }},
		{"interval", true, func(r Row) string { return span(r.Rate) }},
	}
	if sum(rows, assay.InfraFail, assay.Cancelled, assay.NotRun) > 0 {
		fields = append(fields, field{"worst–best", true, bounds})
	}
	fields = append(fields,
		field{"turns", true, func(r Row) string { return mean(r.Turns, r.N) }},
		field{"cost", true, func(r Row) string { return r.Cost.String() }},
		field{"wall", true, wallMean},
		outcome("infra", assay.InfraFail), outcome("not run", assay.NotRun))
	if sum(rows, assay.Cancelled) > 0 {
		fields = append(fields, outcome("cancelled", assay.Cancelled))
	}
	return fields
}

func wallMean(r Row) string {
	if r.N == 0 {
		return nothing
	}
	return seconds(r.Seconds)
}

func bounds(r Row) string {
	if r.Trials == r.N {
		return ""
	}
	return fmt.Sprintf("%.1f–%.1f", 100*r.Worst, 100*r.Best)
}

func outcome(head string, o assay.Outcome) field {
	return field{head, true, func(r Row) string { return strconv.Itoa(r.Outcomes[o]) }}
}

func sum(rows []Row, of ...assay.Outcome) (n int) {
	for _, r := range rows {
		for _, o := range of {
			n += r.Outcomes[o]
		}
	}
	return n
}

// notPassed says how the trials of the rate that didn't pass ended.
func notPassed(r Row) string {
	var parts []string
	for _, o := range assay.Outcomes() {
		if n := r.Outcomes[o]; n > 0 && o.InRate() && o != assay.Passed {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	return strings.Join(parts, ", ")
}

func strength(r Row) string {
	if r.Strength == nil || r.Strength.Hunks == 0 {
		return nothing
	}
	return fmt.Sprintf("%d/%d hunks", r.Strength.Noticed, r.Strength.Hunks)
}

func tokenFields() []field {
	class := func(head string, of func(assay.Tokens) int64) field {
		return field{head, true, func(r Row) string {
			model, program := of(r.Tokens), of(r.Program)
			if r.Differ && model != program {
				return fmt.Sprintf("%s (%s)", thousands(model), thousands(program))
			}
			return thousands(model)
		}}
	}
	return []field{
		class("tokens in", func(t assay.Tokens) int64 { return t.Input }),
		class("cache read", func(t assay.Tokens) int64 { return t.CacheRead }),
		class("cache write", func(t assay.Tokens) int64 { return t.CacheWrite }),
		class("tokens out", func(t assay.Tokens) int64 { return t.Output }),
	}
}

func lostTable(r Report) table {
	var rows []Row
	for _, row := range r.Headline {
		if row.Lost.Attempts > 0 {
			rows = append(rows, row)
		}
	}
	t := build("Lost to infrastructure", rows, []field{
		{"agent / model / effort / variant", false, func(r Row) string { return r.label() }},
		{"attempts", true, func(r Row) string { return strconv.Itoa(r.Lost.Attempts) }},
		{"tokens", true, func(r Row) string { return thousands(r.Lost.Tokens.Total()) }},
		{"cost", true, func(r Row) string { return r.Lost.Cost.String() }},
		{"time", true, func(r Row) string { return seconds(r.Lost.Seconds) }},
	})
	t.note = "Attempts that ended in infra or were cancelled, retried ones too. Part of no other figure."
	return t
}

func differenceTable(r Report) table {
	t := table{title: "Differences", note: "Paired over the tasks that both have, in percentage points, second minus first. " +
		"Could see: the least true difference that these tasks show with 80% power.", cols: []column{
		{"from → to", false}, {"tasks", true}, {"difference", true}, {"interval", true},
		{"up/down", true}, {"McNemar p", true}, {"could see", true}, {"verdict", false},
	}}
	for _, d := range r.Differences {
		see := nothing
		if d.Smallest > 0 {
			see = fmt.Sprintf("%.1f", 100*d.Smallest)
		}
		few := ""
		if d.Diff.Few {
			few = " !"
		}
		t.rows = append(t.rows, []string{
			d.label(), strconv.Itoa(d.Diff.Clusters), points(d.Diff.Mean),
			points(d.Diff.Lo) + " to " + points(d.Diff.Hi) + few,
			fmt.Sprintf("%d/%d", d.Gained, d.Dropped), strconv.FormatFloat(d.P, 'f', 3, 64), see, string(d.Verdict),
		})
	}
	return t
}

// label names what d compares, then what both sides share.
func (d Difference) label() string {
	from, to, same := d.From, d.To, d.To
	var a, b string
	switch d.What {
	case "agent":
		a, b, same.Agent = from.Agent, to.Agent, ""
	case "model":
		a, b, same.Model = from.Model, to.Model, ""
	case "effort":
		a, b, same.Effort = from.Effort, to.Effort, ""
	default:
		a, b, same.Variant = from.Variant, to.Variant, ""
	}
	return cmp.Or(clean(a), "(none)") + " → " + cmp.Or(clean(b), "(none)") + " (" + same.label() + ")"
}

func repeatedTable(r Report) table {
	t := table{title: "Repeats", note: "pass@k: at least one of k attempts passes; pass^k: all k pass. Means over tasks with at least k trials.",
		cols: []column{{"agent / model / effort / variant", false}, {"k", true}, {"tasks", true}, {"pass@k", true}, {"pass^k", true}}}
	for _, p := range r.Repeated {
		t.rows = append(t.rows, []string{p.label(), strconv.Itoa(p.K), strconv.Itoa(p.Tasks), percent(p.PassAtK), percent(p.PassHatK)})
	}
	return t
}

func missTable(r Report) table {
	t := table{title: "Misses", list: true, cols: []column{
		{"trial", false}, {"repeat", true}, {"outcome", false}, {"check", false}, {"clause", false}, {"test", false}, {"message", false},
	}}
	for _, m := range r.Misses {
		head := []string{m.label(), strconv.Itoa(m.Repeat), m.ending()}
		for _, b := range m.lines() {
			t.rows = append(t.rows, append(head[:3:3], b.name(), b.Clause, b.test(), b.Message))
		}
	}
	return t
}

// lines are the clauses, or one line with the detail where there are none.
func (m Miss) lines() []Broken {
	if len(m.Clauses) == 0 || m.Detail != "" && m.Outcome != assay.Failed {
		return append([]Broken{{Message: m.Detail}}, m.Clauses...)
	}
	return m.Clauses
}

// ending is the outcome, and the words for how it came about.
func (m Miss) ending() string {
	if words := assay.ModeWords(m.Modes); words != "" {
		return m.outcome() + ": " + words
	}
	return m.outcome()
}

func (m Miss) outcome() string {
	for _, kind := range []string{string(m.Limit), string(m.Infra)} {
		if kind != "" {
			return string(m.Outcome) + " (" + kind + ")"
		}
	}
	return string(m.Outcome)
}

func (b Broken) name() string {
	if b.Check == "" || b.Status == assay.CheckFailed {
		return b.Check
	}
	return b.Check + " (" + string(b.Status) + ")"
}

func (b Broken) test() string {
	if b.Test == "" {
		return ""
	}
	return b.Test + " (" + string(b.Verdict) + ")"
}

func absentTable(r Report) table {
	t := table{title: "Not run", list: true, cols: []column{{"trial", false}, {"reason", false}}}
	for _, a := range r.NotRun {
		t.rows = append(t.rows, []string{a.label(), a.Reason})
	}
	return t
}

func problemTable(r Report) table {
	t := table{title: "Problems", list: true, cols: []column{{"file", false}, {"problem", false}}}
	for _, p := range r.Problems {
		file := p.File
		if p.Line > 0 {
			file += ":" + strconv.Itoa(p.Line)
		}
		t.rows = append(t.rows, []string{file, p.Text})
	}
	return t
}
