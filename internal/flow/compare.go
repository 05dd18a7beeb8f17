package flow

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/compare"
	"github.com/assaybot/assay/internal/ledger"
	"github.com/assaybot/assay/internal/report"
	"github.com/assaybot/assay/internal/stat"
)

// CompareRequest names two sides. Without an axis A and B are results folders;
// with one (agent, model, effort or variant) they are two of its values within
// the folder Results.
type CompareRequest struct {
	A, B    string
	Axis    string
	Results string
	// Margin is the loss of rate that wouldn't matter, within [0, 1].
	Margin float64
	Format string
}

// CompareFormats lists the formats of a comparison.
func CompareFormats() []string { return compare.Formats() }

// Compare writes a comparison and returns what it proves.
func (f *Flow) Compare(req CompareRequest, w io.Writer) (stat.Verdict, error) {
	if !slices.Contains(compare.Formats(), req.Format) {
		return "", assay.Userf("there is no format %q of a comparison (there are %s)", req.Format, strings.Join(compare.Formats(), ", "))
	}
	c, err := f.comparison(req)
	if err != nil {
		return "", err
	}
	return c.Verdict, compare.Render(c, req.Format, w)
}

func (f *Flow) comparison(req CompareRequest) (compare.Comparison, error) {
	if req.Margin < 0 || req.Margin >= 1 {
		return compare.Comparison{}, assay.Userf("a margin is a share from 0 to 1, such as 0.05 for 5 points; %v is none", req.Margin)
	}
	in := compare.Input{Axis: req.Axis, Margin: req.Margin}
	var err error
	if req.Axis == "" {
		if in.A, err = f.side(req.A); err == nil {
			in.B, err = f.side(req.B)
		}
	} else {
		in.A, in.B, err = f.sidesOf(req)
	}
	if err != nil {
		return compare.Comparison{}, err
	}
	return compare.Make(in), nil
}

// side is a whole results folder.
func (f *Flow) side(dir string) (compare.Side, error) {
	rep, err := f.buildReport(dir)
	if err != nil {
		return compare.Side{}, err
	}
	return f.sideOf(rep, dir)
}

func (f *Flow) sideOf(rep report.Report, dir string) (compare.Side, error) {
	l, err := ledger.OpenRead(dir)
	if err != nil {
		return compare.Side{}, err
	}
	plan, err := l.Plan()
	if err != nil {
		return compare.Side{}, err
	}
	digests := map[string]string{}
	for _, t := range plan.Trials {
		digests[t.ID] = t.TaskDigest
	}
	return sideFrom(rep, dir, digests), nil
}

// sideFrom is the side of a report, with the tasks' digests by trial.
func sideFrom(rep report.Report, name string, digests map[string]string) compare.Side {
	missed := map[string][]string{}
	for _, m := range rep.Misses {
		missed[m.ID] = missedBy(m)
	}
	side := compare.Side{Name: name}
	for _, t := range rep.Trials {
		side.Trials = append(side.Trials, compare.Trial{
			ID: t.ID, Task: t.Task, Digest: digests[t.ID], Repeat: t.Repeat, Version: t.Version,
			Cell:    compare.Cell{Agent: t.Agent, Model: t.Model, Effort: t.Effort, Variant: t.Variant},
			Outcome: t.Outcome, Resolved: t.Resolved, Turns: t.Turns, Seconds: t.Seconds,
			USD: t.Cost.USD, Spent: t.Cost.Known+t.Cost.Unknown > 0, Priced: t.Cost.Unknown == 0,
			Clauses: missed[t.ID],
		})
	}
	return side
}

// missedBy are the requirements that a trial missed, as a person reads them.
func missedBy(m report.Miss) []string {
	var out []string
	if m.Outcome != assay.Failed {
		out = append(out, strings.TrimSuffix(string(m.Outcome)+": "+cmp.Or(m.Detail, string(m.Limit)), ": "))
	}
	for _, b := range m.Clauses {
		text := cmp.Or(b.Clause, strings.TrimSuffix(b.Check+": "+b.Test, ": "))
		if b.Clause != "" && b.Test != "" {
			text += " (" + b.Test + ")"
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// sidesOf splits one results folder by an axis.
func (f *Flow) sidesOf(req CompareRequest) (a, b compare.Side, err error) {
	axis := axes()[req.Axis]
	if axis == nil {
		return a, b, assay.Userf("there is no axis %q; there are agent, effort, model and variant", req.Axis)
	}
	if req.Results == "" {
		return a, b, assay.Userf("--axis compares two values within one results folder: name it with --results")
	}
	whole, err := f.side(req.Results)
	if err != nil {
		return a, b, err
	}
	if a, err = part(whole, req.Axis, req.A); err != nil {
		return a, b, err
	}
	b, err = part(whole, req.Axis, req.B)
	return a, b, err
}

func axes() map[string]func(*compare.Cell) *string {
	return map[string]func(*compare.Cell) *string{
		"agent":   func(c *compare.Cell) *string { return &c.Agent },
		"model":   func(c *compare.Cell) *string { return &c.Model },
		"effort":  func(c *compare.Cell) *string { return &c.Effort },
		"variant": func(c *compare.Cell) *string { return &c.Variant },
	}
}

// part is the side of whole whose axis has a value.
func part(whole compare.Side, axis, value string) (compare.Side, error) {
	of := axes()[axis]
	out := compare.Side{Name: value}
	var values []string
	for _, t := range whole.Trials {
		at := of(&t.Cell)
		if *at == value {
			*at = ""
			out.Trials = append(out.Trials, t)
		} else if *at != "" && !slices.Contains(values, *at) {
			values = append(values, *at)
		}
	}
	if len(out.Trials) == 0 {
		slices.Sort(values)
		return out, assay.Userf("%s has no trial with the %s %q; it has %s", whole.Name, axis, value,
			cmp.Or(strings.Join(values, ", "), "none"))
	}
	return out, nil
}
