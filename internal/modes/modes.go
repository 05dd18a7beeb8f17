// Package modes tells how an attempt went wrong, from facts alone: the result
// and the steps of the trajectory. The same facts give the same modes, in the
// same order. It reads no file, asks no model, changes no outcome, and says
// nothing of an attempt that infrastructure ended.
package modes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// maxDetail bounds the detail of a mode in runes; maxClauses how many missed
// requirements are listed.
const (
	maxDetail  = 120
	maxClauses = 10
)

// Watcher takes the steps of one attempt's trajectory, one at a time, and
// keeps little of each.
type Watcher struct {
	r     assay.Result
	trail trail
}

// New begins with an attempt's result.
func New(r assay.Result) *Watcher { return &Watcher{r: r, trail: newTrail(r)} }

// Step takes the next step.
func (w *Watcher) Step(s assay.Step) { w.trail.step(s) }

// Of are the modes of an attempt whose steps are at hand.
func Of(r assay.Result, steps []assay.Step) []assay.Mode {
	w := New(r)
	for _, s := range steps {
		w.Step(s)
	}
	return w.Modes()
}

// Modes are the attempt's modes after its last step. One that passed can have
// searched for the answer or looped; one outside of the rate has none.
func (w *Watcher) Modes() []assay.Mode {
	if !w.r.Outcome.InRate() {
		return nil
	}
	out := w.trail.found()
	if w.r.Outcome != assay.Passed {
		out = append(out, w.ending()...)
		out = append(out, w.checks()...)
	}
	slices.SortStableFunc(out, func(a, b assay.Mode) int {
		return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), cmp.Compare(a.Step, b.Step))
	})
	return out
}

// order is that of reports: what decides whether the number can be trusted
// comes first.
func order() []assay.ModeName {
	return []assay.ModeName{
		assay.ModeTampered, assay.ModeSearched, assay.ModeRefused, assay.ModeRanOut, assay.ModeNothing,
		assay.ModeGaveUp, assay.ModeLooped, assay.ModeUntested, assay.ModeRegression, assay.ModeWrongFile,
		assay.ModeScope, assay.ModeRequirement,
	}
}

func rank(n assay.ModeName) int { return slices.Index(order(), n) }

// ending are the modes of how the attempt ended.
func (w *Watcher) ending() []assay.Mode {
	var out []assay.Mode
	switch w.r.Outcome {
	case assay.Refused:
		out = append(out, assay.Mode{Name: assay.ModeRefused, Step: w.trail.said, Detail: line(w.r.Agent.Final)})
	case assay.LimitHit:
		out = append(out, assay.Mode{Name: assay.ModeRanOut, Step: w.trail.last, Detail: string(w.r.Limit)})
	}
	if len(w.r.Patch.Files) == 0 && w.r.Patch.Bytes == 0 {
		out = append(out, assay.Mode{Name: assay.ModeNothing})
	}
	if w.r.Outcome == assay.Refused || w.r.Outcome == assay.LimitHit {
		return out
	}
	final := cmp.Or(w.r.Agent.Final, w.trail.message)
	if gaveUp(final) {
		return append(out, assay.Mode{Name: assay.ModeGaveUp, Step: w.trail.said, Detail: line(final)})
	}
	if w.trail.edited && !w.trail.tested && claims(final) {
		out = append(out, assay.Mode{Name: assay.ModeUntested, Step: w.trail.said, Detail: line(final)})
	}
	return out
}

// checks are the modes that the checks prove.
func (w *Watcher) checks() []assay.Mode {
	var out []assay.Mode
	clauses := map[string]bool{}
	for _, c := range w.r.Checks {
		if c.Status == assay.CheckIntegrity {
			out = append(out, w.byFile(assay.ModeTampered, c))
			continue
		}
		if c.Status != assay.CheckFailed {
			continue
		}
		switch c.Kind {
		case assay.CheckFileUnchanged:
			out = append(out, w.byFile(assay.ModeWrongFile, c))
		case assay.CheckNoNewFiles:
			out = append(out, w.byFile(assay.ModeScope, c))
		default:
			out = append(out, missed(c, clauses)...)
		}
	}
	return out
}

// byFile is a mode of a check that names files, with the step that first
// edited one of them.
func (w *Watcher) byFile(name assay.ModeName, c assay.CheckResult) assay.Mode {
	m := assay.Mode{Name: name, Detail: line(c.Detail)}
	named := strings.FieldsFunc(c.Detail, func(r rune) bool { return strings.ContainsRune(" ,:\n", r) })
	for _, e := range w.trail.edits {
		if slices.Contains(named, e.file) {
			m.Step = e.step
			break
		}
	}
	return m
}

// missed are the requirements that a check's misses break, each once, and the
// regression that its kept tests prove.
func missed(c assay.CheckResult, seen map[string]bool) []assay.Mode {
	var out []assay.Mode
	require := func(clause string) {
		clause = line(clause)
		if !seen[clause] && len(seen) < maxClauses {
			seen[clause] = true
			out = append(out, assay.Mode{Name: assay.ModeRequirement, Detail: clause})
		}
	}
	regressed := ""
	for _, t := range c.Misses {
		switch {
		case t.Kept && (t.Status == assay.TestFailed || t.Status == assay.TestError):
			regressed = cmp.Or(regressed, t.ID)
		case !t.Kept:
			require(cmp.Or(t.Clause, c.Clause, c.Name))
		}
	}
	if len(c.Misses) == 0 {
		require(cmp.Or(c.Clause, c.Name))
	}
	if regressed != "" {
		out = append(out, assay.Mode{Name: assay.ModeRegression, Detail: line(regressed)})
	}
	return out
}

// line is the first line of s that holds anything, cut to maxDetail.
func line(s string) string {
	for l := range strings.Lines(s) {
		if l = strings.TrimSpace(strings.ToValidUTF8(l, "\uFFFD")); l != "" {
			return cut(l)
		}
	}
	return ""
}

func cut(s string) string {
	r := []rune(s)
	if len(r) > maxDetail {
		return string(r[:maxDetail-1]) + "…"
	}
	return s
}
