package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/stat"
)

func (c *Comparison) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

func (c *Comparison) leave(what, format string, args ...any) {
	c.LeftOut = append(c.LeftOut, Absent{What: what, Why: fmt.Sprintf(format, args...)})
}

func missing(trials []Trial) (m Missing) {
	for _, t := range trials {
		switch {
		case t.Outcome.InRate():
		case t.Outcome == assay.Cancelled:
			m.Cancelled++
		case t.Outcome == assay.NotRun:
			m.NotRun++
		default:
			m.Infra++
		}
	}
	return m
}

// label names a cell, without the parts that are empty.
func (c Cell) label() string {
	parts := slices.DeleteFunc([]string{c.Agent, c.Model, c.Effort, c.Variant}, func(s string) bool { return s == "" })
	return cmp.Or(strings.Join(parts, " / "), "(none)")
}

func (c Cell) compare(o Cell) int {
	return cmp.Or(cmp.Compare(c.Agent, o.Agent), cmp.Compare(c.Model, o.Model),
		cmp.Compare(c.Effort, o.Effort), cmp.Compare(c.Variant, o.Variant))
}

func cells(trials []Trial) map[Cell]bool {
	out := map[Cell]bool{}
	for _, t := range trials {
		out[t.Cell] = true
	}
	return out
}

// align keeps the trials of the cells that both sides have. Where each side
// has one cell only, those two are compared, whatever they differ in.
func (c *Comparison) align(a, b []Trial) (keptA, keptB []Trial) {
	inA, inB := cells(a), cells(b)
	if len(inA) == 1 && len(inB) == 1 && !maps.Equal(inA, inB) {
		c.note("The sides differ in what was run: %s, and %s.", a[0].Cell.label(), b[0].Cell.label())
		return uncelled(a), uncelled(b)
	}
	drop := func(mine, others map[Cell]bool, side, other string) {
		for _, cell := range slices.SortedFunc(maps.Keys(mine), Cell.compare) {
			if !others[cell] {
				c.leave(cell.label(), "is in %s only, not in %s", side, other)
			}
		}
	}
	drop(inA, inB, c.A, c.B)
	drop(inB, inA, c.B, c.A)
	keptA, keptB = within(a, inB), within(b, inA)
	if len(a) > 0 && len(b) > 0 && len(keptA) == 0 {
		c.Reason = "the sides have no agent, model, effort and variant in common"
	}
	return keptA, keptB
}

func uncelled(trials []Trial) []Trial {
	out := slices.Clone(trials)
	for i := range out {
		out[i].Cell = Cell{}
	}
	return out
}

func within(trials []Trial, in map[Cell]bool) []Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t Trial) bool { return !in[t.Cell] })
}

// versions notes agents whose version isn't the same on both sides.
func (c *Comparison) versions(a, b []Trial) {
	of := func(trials []Trial) map[string]map[string]bool {
		out := map[string]map[string]bool{}
		for _, t := range trials {
			if t.Version != "" {
				if out[t.Cell.Agent] == nil {
					out[t.Cell.Agent] = map[string]bool{}
				}
				out[t.Cell.Agent][t.Version] = true
			}
		}
		return out
	}
	inA, inB := of(a), of(b)
	for _, agent := range slices.Sorted(maps.Keys(inA)) {
		if vs := inB[agent]; vs != nil && !maps.Equal(inA[agent], vs) {
			list := func(m map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }
			c.note("The program of %s is not the same: %s, and %s.", cmp.Or(agent, "the agent"), list(inA[agent]), list(vs))
		}
	}
}

// unit is one task on both sides.
type unit struct {
	task string
	// a and b hold the trials of each cell.
	a, b map[Cell][]Trial
}

func byTask(trials []Trial) map[string][]Trial {
	out := map[string][]Trial{}
	for _, t := range trials {
		out[t.Task] = append(out[t.Task], t)
	}
	return out
}

func byCell(trials []Trial) map[Cell][]Trial {
	out := map[Cell][]Trial{}
	for _, t := range trials {
		out[t.Cell] = append(out[t.Cell], t)
	}
	return out
}

// units are the tasks that both sides planned with the same digest, in the
// order of names; the others are left out, and said.
func (c *Comparison) units(a, b map[string][]Trial) []unit {
	var out []unit
	for _, task := range slices.Sorted(maps.Keys(a)) {
		switch {
		case b[task] == nil:
			c.leave(task, "was planned in %s only, not in %s", c.A, c.B)
		case !sameTask(a[task], b[task]):
			c.leave(task, "is not the same task on both sides: its digest differs")
		default:
			out = append(out, unit{task: task, a: byCell(a[task]), b: byCell(b[task])})
		}
	}
	for _, task := range slices.Sorted(maps.Keys(b)) {
		if a[task] == nil {
			c.leave(task, "was planned in %s only, not in %s", c.B, c.A)
		}
	}
	return out
}

// sameTask tells whether all trials of a task that know its digest agree.
func sameTask(a, b []Trial) bool {
	digest := ""
	for _, t := range slices.Concat(a, b) {
		if digest == "" {
			digest = t.Digest
		}
		if t.Digest != "" && t.Digest != digest {
			return false
		}
	}
	return true
}

// uneven says which side lacks what the other has, "" if both are equally
// complete for every task and cell.
func uneven(units []unit) string {
	var lackA, lackB int
	for _, u := range units {
		for cell := range merged(u.a, u.b) {
			d := missing(u.a[cell]).Total() - missing(u.b[cell]).Total()
			if u.b[cell] == nil || u.a[cell] == nil {
				d = len(u.b[cell]) - len(u.a[cell])
			}
			lackA, lackB = lackA+max(d, 0), lackB+max(-d, 0)
		}
	}
	const not = "the sides are not equally complete: "
	switch {
	case lackA+lackB == 0:
		return ""
	case lackA == 0:
		return not + fmt.Sprintf("the second lacks %s that the first has", ofTrials(lackB))
	case lackB == 0:
		return not + fmt.Sprintf("the first lacks %s that the second has", ofTrials(lackA))
	}
	return not + fmt.Sprintf("the first lacks %s and the second %s that the other has", ofTrials(lackA), ofTrials(lackB))
}

func ofTrials(n int) string {
	if n == 1 {
		return "1 trial"
	}
	return fmt.Sprintf("%d trials", n)
}

func merged(a, b map[Cell][]Trial) map[Cell]bool {
	out := map[Cell]bool{}
	for c := range a {
		out[c] = true
	}
	for c := range b {
		out[c] = true
	}
	return out
}

// done are the trials of both sides of the cells in which both finished any.
func (u unit) done() (a, b [][]Trial) {
	for _, cell := range slices.SortedFunc(maps.Keys(u.a), Cell.compare) {
		x, y := counted(u.a[cell]), counted(u.b[cell])
		if len(x) > 0 && len(y) > 0 {
			a, b = append(a, x), append(b, y)
		}
	}
	return a, b
}

func counted(trials []Trial) []Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t Trial) bool { return !t.Outcome.InRate() })
}

func tally(cells [][]Trial) (t Tally) {
	for _, c := range cells {
		for _, one := range c {
			t.N++
			if one.Resolved {
				t.Passed++
			}
		}
	}
	return t
}

// mean is the mean over cells of of's mean over a cell's trials, so that each
// cell weighs the same on both sides.
func mean(cells [][]Trial, of func(Trial) float64) float64 {
	var sum float64
	for _, c := range cells {
		var s float64
		for _, t := range c {
			s += of(t)
		}
		sum += s / float64(len(c))
	}
	return sum / float64(len(cells))
}

func passed(t Trial) float64 {
	if t.Resolved {
		return 1
	}
	return 0
}

// round cuts x to six decimals, and what can't stand in a file to 0.
func round(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return math.Round(x*1e6) / 1e6
}

func rounded(i stat.Interval) stat.Interval {
	i.Mean, i.Lo, i.Hi = round(i.Mean), round(i.Lo), round(i.Hi)
	return i
}
