package history

import (
	"time"

	"github.com/assaybot/assay/internal/assay"
)

// Schema is the number in the head of a run's file.
const Schema = 1

// Head is the first line of a run's file. ID tells runs apart: a run that is
// posted again under its ID adds only what is new. Key is the name of a series,
// such as nightly.
type Head struct {
	Schema  int       `json:"schema"`
	ID      string    `json:"run"`
	Key     string    `json:"key,omitempty"`
	Commit  string    `json:"commit,omitempty"`
	When    time.Time `json:"when"`
	Suite   string    `json:"suite,omitempty"`
	Version string    `json:"assay,omitempty"`
	URL     string    `json:"url,omitempty"`
	Cells   []Cell    `json:"cells"`
}

// Cell is what a trial is besides its task and repeat. Agent is the key of
// reports and Name the agent's own name where it differs; Version is what was
// asked for and Ran what answered.
type Cell struct {
	Agent   string `json:"agent"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	Ran     string `json:"ran,omitempty"`
	Model   string `json:"model,omitempty"`
	Effort  string `json:"effort,omitempty"`
	Variant string `json:"variant"`
}

// Series is the cell without versions: what a trend is drawn of.
func (c Cell) Series() Cell {
	return Cell{Agent: c.Agent, Model: c.Model, Effort: c.Effort, Variant: c.Variant}
}

// Trial is one trial with its counting attempt; Cell is an index into the
// head's. At is when it ended, in Unix seconds, 0 if it never began. USD is nil
// where the price is unknown or nothing was spent. Spent is what all attempts
// cost together, and Unpriced how many of them cost an unknown sum.
type Trial struct {
	ID       string        `json:"i"`
	Task     string        `json:"t"`
	Digest   string        `json:"d,omitempty"`
	Cell     int           `json:"c"`
	Repeat   int           `json:"r"`
	Outcome  assay.Outcome `json:"o"`
	Resolved bool          `json:"ok,omitempty"`
	USD      *float64      `json:"usd,omitempty"`
	Spent    float64       `json:"all,omitempty"`
	Unpriced int           `json:"unpriced,omitempty"`
	Turns    int           `json:"n,omitempty"`
	Seconds  float64       `json:"s,omitempty"`
	At       int64         `json:"at,omitempty"`
}

// same tells whether two lines are of the same attempt.
func (t Trial) same(o Trial) bool { return t.ID == o.ID && t.At == o.At && t.Outcome == o.Outcome }

// Run is one run.
type Run struct {
	Head
	Trials []Trial
}

// Ended is when the run's last trial ended, or its own time.
func (r Run) Ended() time.Time {
	last := r.When
	for _, t := range r.Trials {
		if at := time.Unix(t.At, 0).UTC(); t.At > 0 && at.After(last) {
			last = at
		}
	}
	return last
}

// Results are the run's trials as results: their IDs, outcomes, times and
// costs, and nothing else. A plan learns from them, and leaves out what has an
// answer.
func (r Run) Results() []assay.Result {
	out := make([]assay.Result, 0, len(r.Trials))
	for _, t := range r.Trials {
		if t.At == 0 {
			continue // it never ran
		}
		c := r.Cells[t.Cell]
		spec := assay.AgentSpec{Name: c.Agent, Version: c.Version}
		if c.Name != "" {
			spec.Name, spec.Label = c.Name, c.Agent
		}
		end := time.Unix(t.At, 0).UTC()
		one := assay.Result{
			Schema: assay.ResultSchema, Outcome: t.Outcome, Resolved: t.Resolved,
			Started: end.Add(-time.Duration(t.Seconds * float64(time.Second))), Finished: end,
			Trial: assay.Trial{ID: t.ID, Task: t.Task, TaskDigest: t.Digest, Agent: spec, Model: c.Model, Effort: c.Effort,
				Variant: c.Variant, Repeat: t.Repeat},
		}
		one.Agent.Version, one.Agent.Turns = c.Ran, t.Turns
		if t.USD != nil {
			one.Agent.CostUSD, one.Agent.CostKnown = *t.USD, true
		}
		out = append(out, one)
	}
	return out
}

// Spent is what the trials of runs cost that ended from (inclusive) to until
// (exclusive), in US dollars, and how many attempts cost an unknown sum. A
// trial that several runs hold counts once.
func Spent(runs []Run, from, until time.Time) (usd float64, unpriced int) {
	type attempt struct {
		id string
		at int64
	}
	seen := map[attempt]bool{}
	for _, r := range runs {
		for _, t := range r.Trials {
			key := attempt{t.ID, t.At}
			if t.At < from.Unix() || t.At >= until.Unix() || seen[key] {
				continue
			}
			seen[key] = true
			usd += t.Spent
			unpriced += t.Unpriced
		}
	}
	return usd, unpriced
}
