// Package compare sets two sides of an experiment against each other, task by
// task: two variants (agents, models, efforts) of one run, or two runs.
//
// It counts only tasks that both sides finished with the same inputs, and says
// what it left out. It gives no verdict where the sides are not equally
// complete, or where nothing is proven. It reads no file, no clock and no
// environment, and never takes a failure of infrastructure for one of an
// agent.
package compare

import (
	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/stat"
)

// Schema is the number of the JSON form of a Comparison.
const Schema = 1

// Cell is what a trial is besides its task and repeat. A side's trials are
// compared with those of the same cell on the other side; the axis that is
// compared is left empty in both.
type Cell struct {
	Agent   string `json:"agent,omitempty"`
	Model   string `json:"model,omitempty"`
	Effort  string `json:"effort,omitempty"`
	Variant string `json:"variant,omitempty"`
}

// Trial is one trial with its counting attempt. Digest is that of the task,
// "" if the trial never got one. Turns, Seconds and USD are those of the
// counting attempt; Spent is false where nothing could be spent (an agent
// without a model), Priced where the price is known.
type Trial struct {
	ID       string
	Task     string
	Digest   string
	Cell     Cell
	Repeat   int
	Version  string
	Outcome  assay.Outcome
	Resolved bool
	Turns    int
	Seconds  float64
	USD      float64
	Spent    bool
	Priced   bool
	// Clauses are the requirements that the trial missed, in the order of the
	// checks.
	Clauses []string
}

// Side is one of the two.
type Side struct {
	Name   string
	Trials []Trial
}

// Input is all that a comparison is made from. Axis is agent, model, effort or
// variant, or "" for two runs. Margin is the loss of rate (within [0, 1]) that
// would not matter; 0 asks for no such verdict.
type Input struct {
	A, B   Side
	Axis   string
	Margin float64
}

// Comparison is what came of it; differences are B - A. Its JSON is the format
// "json". Shares are within [0, 1], money is US dollars, times are seconds.
type Comparison struct {
	Schema int    `json:"schema"`
	A      string `json:"a"`
	B      string `json:"b"`
	Axis   string `json:"axis,omitempty"`
	// Verdict is "~" where nothing is proven; Reason then says why none could
	// be given at all, "" where the data could have proven something.
	Verdict stat.Verdict `json:"verdict"`
	Reason  string       `json:"reason,omitempty"`
	Margin  float64      `json:"margin,omitempty"`
	// Tasks is the number of tasks that were compared.
	Tasks int           `json:"tasks"`
	RateA Count         `json:"rate_a"`
	RateB Count         `json:"rate_b"`
	Diff  stat.Interval `json:"difference"`
	// P is McNemar's exact probability; nil where a task was tried more than
	// once on a side, so that the trials aren't independent.
	P *float64 `json:"mcnemar_p,omitempty"`
	// Smallest is the least true difference that these tasks could have
	// shown with 80 % power, 0 if none could.
	Smallest float64  `json:"smallest_detectable"`
	Worse    []Change `json:"worse,omitempty"`
	Better   []Change `json:"better,omitempty"`
	Same     int      `json:"same"`
	MissingA Missing  `json:"missing_a"`
	MissingB Missing  `json:"missing_b"`
	LeftOut  []Absent `json:"left_out,omitempty"`
	Turns    Figure   `json:"turns"`
	Cost     Figure   `json:"cost_usd"`
	Seconds  Figure   `json:"seconds"`
	Notes    []string `json:"notes,omitempty"`
}

// Count is a rate over the tasks compared.
type Count struct {
	Resolved int           `json:"resolved"`
	N        int           `json:"n"`
	Rate     stat.Interval `json:"rate"`
}

// Change is a task that went up or down. Missed are the requirements that the
// trials of the worse side missed, each told once, and Trials those trials.
type Change struct {
	Task   string   `json:"task"`
	A      Tally    `json:"a"`
	B      Tally    `json:"b"`
	Missed []string `json:"missed,omitempty"`
	Trials []string `json:"trials,omitempty"`
}

// Tally counts the trials of a task that passed, of those that count.
type Tally struct {
	Passed int `json:"passed"`
	N      int `json:"n"`
}

func (t Tally) share() float64 {
	if t.N == 0 {
		return 0
	}
	return float64(t.Passed) / float64(t.N)
}

// Missing counts trials that gave no answer, over all tasks.
type Missing struct {
	Infra     int `json:"infra"`
	Cancelled int `json:"cancelled"`
	NotRun    int `json:"not_run"`
}

// Total is all of them.
func (m Missing) Total() int { return m.Infra + m.Cancelled + m.NotRun }

// Absent is a task, or a cell, that was left out of the comparison.
type Absent struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Figure compares the mean of something per task, over the Tasks for which
// both sides know it. Up and Down count the tasks that need more and less on
// side B; P is the exact probability of so uneven a split by chance.
type Figure struct {
	A     float64 `json:"a"`
	B     float64 `json:"b"`
	Diff  float64 `json:"difference"`
	Tasks int     `json:"tasks"`
	Up    int     `json:"up"`
	Down  int     `json:"down"`
	P     float64 `json:"sign_p"`
}

// Make compares the sides of in. It can't fail: what hinders a comparison is
// part of what it says.
func Make(in Input) Comparison {
	c := Comparison{Schema: Schema, A: in.A.Name, B: in.B.Name, Axis: in.Axis, Margin: in.Margin, Verdict: stat.Unproven}
	a, b := in.A.Trials, in.B.Trials
	c.MissingA, c.MissingB = missing(a), missing(b)
	a, b = c.align(a, b)
	c.versions(a, b)
	units := c.units(byTask(a), byTask(b))
	c.count(units)
	c.changes(units)
	c.figures(units)
	c.judge(units)
	return c
}

// judge gives the verdict, if there can be one.
func (c *Comparison) judge(units []unit) {
	if c.Reason != "" {
		return
	}
	if c.Tasks == 0 {
		c.Reason = "no task was finished on both sides"
		return
	}
	if c.Reason = uneven(units); c.Reason != "" {
		return
	}
	c.Verdict = stat.Judge(c.Diff, c.Margin)
	if c.Diff.Few {
		c.note("Fewer than %d tasks: the interval is rough.", stat.FewClusters)
	}
}
