// Package report turns results into the tables that people and machines read:
// pass rates with their intervals, differences, misses down to the clause,
// costs, and what is missing. It renders to a terminal, Markdown, JSON, CSV
// and JUnit.
//
// It reads no file, no clock, no locale and no environment: the same results
// give the same bytes. It never hides a trial that gave no answer, never
// prints NaN, and never posts anything.
package report

import (
	"strconv"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/stat"
)

// Schema is the number of the JSON form of a Report.
const Schema = 1

// Input is all that a report is made from. Results may hold several attempts
// of a trial, in any order. Planned is the plan's trials: where it isn't
// empty, results of other trials are left out, and said to be.
type Input struct {
	Title       string
	SuiteDigest string
	Results     []assay.Result
	Planned     []assay.Trial
	NotRun      []assay.Unrunnable
	// Problems are files that couldn't be read; they are shown.
	Problems assay.Problems
	// Strength of the hidden tests by task, for mined tasks.
	Strength map[string]assay.Strength
	// Modes of attempts, by ModeKey.
	Modes map[string][]assay.Mode
}

// ModeKey is an attempt's key in Input.Modes.
func ModeKey(r assay.Result) string { return trialID(r.Trial) + "/" + strconv.Itoa(r.Attempt) }

// Report is what the formats show; its JSON is the format "json". All shares
// are within [0, 1], money is US dollars, times are seconds, and floats have at
// most six decimals. Lists are ordered by name.
type Report struct {
	Schema int    `json:"schema"`
	Title  string `json:"title"`
	Suite  string `json:"suite_digest,omitempty"`
	// Complete is false when any trial gave no answer; Summary says it in
	// words: "60/63 ran; 2 infra, 1 not run".
	Complete bool     `json:"complete"`
	Summary  string   `json:"summary"`
	Notes    []string `json:"notes,omitempty"`
	Totals   Row      `json:"totals"`
	Headline []Row    `json:"headline"`
	// ByTask and its neighbours add up over all the rest; where several
	// trials share a task their interval is over tasks.
	ByTask    []Row `json:"by_task"`
	ByVariant []Row `json:"by_variant"`
	ByModel   []Row `json:"by_model"`
	ByAgent   []Row `json:"by_agent"`
	// Repeated is empty unless some task ran more than once in a row of
	// Headline.
	Repeated    []Repeated     `json:"repeated,omitempty"`
	Differences []Difference   `json:"differences,omitempty"`
	Misses      []Miss         `json:"misses,omitempty"`
	NotRun      []Absent       `json:"not_run,omitempty"`
	Trials      []Trial        `json:"trials"`
	Problems    assay.Problems `json:"problems,omitempty"`
}

// Key says which trials a row is about; empty fields stand for all.
type Key struct {
	Task    string `json:"task,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Model   string `json:"model,omitempty"`
	Effort  string `json:"effort,omitempty"`
	Variant string `json:"variant,omitempty"`
}

// Row is one line of a table of rates. Rate's denominator N leaves out infra,
// cancelled and not_run, which stand beside it; Worst and Best are the rates if
// all of those had failed, or passed.
type Row struct {
	Key
	Trials   int                   `json:"trials"`
	Tasks    int                   `json:"tasks"`
	Resolved int                   `json:"resolved"`
	N        int                   `json:"n"`
	Outcomes map[assay.Outcome]int `json:"outcomes"`
	Rate     stat.Interval         `json:"rate"`
	Worst    float64               `json:"worst"`
	Best     float64               `json:"best"`
	// Score is the mean score of the N trials.
	Score float64 `json:"score"`
	// Turns and Seconds are means over the N trials; Tokens are sums. Model
	// tokens are the gateway's where it stood between, Program those that the
	// agent's program counted.
	Turns   float64      `json:"mean_turns"`
	Seconds float64      `json:"mean_seconds"`
	Tokens  assay.Tokens `json:"tokens"`
	Program assay.Tokens `json:"program_tokens"`
	// Differ is true when a gateway counted and the program counted
	// otherwise.
	Differ bool  `json:"tokens_differ,omitempty"`
	Cost   Money `json:"cost"`
	// Strength is of the hidden tests, in rows of one task.
	Strength *assay.Strength `json:"strength,omitempty"`
	Lost     Lost            `json:"lost_to_infrastructure"`
}

// Money is a sum of costs: Known of the trials had a price, Unknown had none
// though a model was used, so that with Unknown > 0 the sum is a lower bound.
type Money struct {
	USD     float64 `json:"usd"`
	Known   int     `json:"known"`
	Unknown int     `json:"unknown"`
}

// Lost is what attempts used that ended in infra or were cancelled; it is part
// of no other figure.
type Lost struct {
	Attempts int          `json:"attempts"`
	Tokens   assay.Tokens `json:"tokens"`
	Cost     Money        `json:"cost"`
	Seconds  float64      `json:"seconds"`
}

// Repeated holds pass@k and pass^k of a row whose tasks ran more than once:
// the means over those tasks that have at least K trials.
type Repeated struct {
	Key
	K        int     `json:"k"`
	Tasks    int     `json:"tasks"`
	PassAtK  float64 `json:"pass_at_k"`
	PassHatK float64 `json:"pass_hat_k"`
}

// Difference compares two rows of Headline that differ in one thing, over the
// tasks that both have: Diff is To - From.
type Difference struct {
	From Key           `json:"from"`
	To   Key           `json:"to"`
	What string        `json:"what"`
	Diff stat.Interval `json:"difference"`
	// Gained and Lost count tasks that went up and down.
	Gained  int          `json:"gained"`
	Dropped int          `json:"dropped"`
	P       float64      `json:"mcnemar_p"`
	Verdict stat.Verdict `json:"verdict"`
	// Smallest is the least true difference that these tasks could have
	// shown with 80 % power, 0 if none could.
	Smallest float64 `json:"smallest_detectable"`
}

// Miss is a trial that didn't pass, down to what it broke.
type Miss struct {
	ID string `json:"trial"`
	Key
	Repeat  int             `json:"repeat"`
	Attempt int             `json:"attempt"`
	Outcome assay.Outcome   `json:"outcome"`
	Limit   assay.LimitKind `json:"limit,omitempty"`
	Infra   assay.InfraKind `json:"infra,omitempty"`
	Detail  string          `json:"detail,omitempty"`
	Clauses []Broken        `json:"clauses,omitempty"`
	// Modes say how it went wrong, with the steps of the trajectory.
	Modes []assay.Mode `json:"modes,omitempty"`
}

// Broken is one check, or one test of it, that a trial missed. Message is the
// first line only.
type Broken struct {
	Check   string            `json:"check"`
	Kind    assay.CheckKind   `json:"kind"`
	Status  assay.CheckStatus `json:"status"`
	Clause  string            `json:"clause,omitempty"`
	Test    string            `json:"test,omitempty"`
	Verdict assay.TestStatus  `json:"test_status,omitempty"`
	Message string            `json:"message,omitempty"`
}

// Absent is a cell that never ran, and why.
type Absent struct {
	ID string `json:"trial,omitempty"`
	Key
	Repeat int    `json:"repeat,omitempty"`
	Reason string `json:"reason"`
	// Kind is typed where the machine was at fault (gold_fails_here).
	Kind assay.Reason `json:"kind,omitempty"`
}

// Trial is one line of the CSV: a trial with its counting attempt.
type Trial struct {
	ID string `json:"trial"`
	Key
	Version  string          `json:"agent_version,omitempty"`
	Repeat   int             `json:"repeat"`
	Outcome  assay.Outcome   `json:"outcome"`
	Limit    assay.LimitKind `json:"limit,omitempty"`
	Infra    assay.InfraKind `json:"infra,omitempty"`
	Detail   string          `json:"detail,omitempty"`
	Resolved bool            `json:"resolved"`
	Score    float64         `json:"score"`
	Attempt  int             `json:"attempt"`
	Attempts int             `json:"attempts"`
	Turns    int             `json:"turns"`
	Tokens   assay.Tokens    `json:"tokens"`
	Program  assay.Tokens    `json:"program_tokens"`
	Gateway  bool            `json:"gateway"`
	Cost     Money           `json:"cost"`
	Seconds  float64         `json:"seconds"`
	Lost     Lost            `json:"lost_to_infrastructure"`
	Modes    []assay.Mode    `json:"modes,omitempty"`

	checks []assay.CheckResult
}
