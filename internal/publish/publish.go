// Package publish turns a score into what people read on GitHub: a check run
// with its annotations, one comment per pull request that is edited in place,
// a job summary and a step's outputs. It also posts them, through the port
// Target, so that a second run edits instead of adding.
//
// Making the texts is pure: no clock, no environment, no network. Text from
// outside passes package plain; sizes are counted in bytes; the worst things
// stand first. A check is never red when nothing is proven. It never posts
// under anybody's name but its own, and touches nobody else's comments.
package publish

import (
	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/stat"
)

// The most bytes of each text, with room below GitHub's own limits (65,535 of
// a field of a check, 65,536 of a comment, 1 MiB of a step's summary).
const (
	MaxComment = 60_000
	MaxField   = 60_000
	MaxSummary = 900 << 10
)

// Context is where a score belongs.
type Context struct {
	// Repo is "owner/name". Number is the pull request, 0 for none. SHA is
	// the commit that was scored: a pull request's head, not its merge.
	Repo   string
	Number int
	SHA    string
	// Head finds the pull request where its number isn't known.
	Head Head
	// Web addresses, "" where there is none: the workflow run, the archive
	// of the results folder, and the same folder as it can be browsed.
	RunURL, ArtifactURL, TrialsURL string
	// Name is the check run's; Key tells several scores of one repository
	// apart. There is one comment and one check run per key.
	Name, Key string
}

// Score is what is published.
type Score struct {
	Title string
	Suite string // digest
	// Complete is false when trials gave no answer; Summary says it in words.
	Complete bool
	Summary  string
	Totals   Row
	Rows     []Row // by agent, model, effort and variant
	Tasks    []Row
	Misses   []Miss
	NotRun   []Absent
	Notes    []string
	// Lint are faults of task files, with paths within the repository;
	// Problems are files of the results that couldn't be read.
	Lint, Problems assay.Problems
	// Versus is the comparison with a base, if there is one.
	Versus *Versus
	// Full is all tables as Markdown that is safe already.
	Full string
}

// Row is one rate. Cost is as people read it; USD is its number, a lower
// bound unless Priced.
type Row struct {
	Name     string
	Trials   int
	Resolved int
	N        int
	Rate     stat.Interval
	// Worst and Best are the rates if all trials without an answer had
	// failed, or passed.
	Worst, Best float64
	Turns       float64
	Cost        string
	USD         float64
	Priced      bool
	// Missing says which trials gave no answer: "2 infra, 1 not run".
	Missing string
}

// Miss is a trial that didn't pass. Path is its attempt's folder within the
// results. Ours is true where infrastructure failed, not the agent.
type Miss struct {
	Name   string
	Ending string
	Missed []string
	Path   string
	Ours   bool
}

// Absent is what never ran or was left out, and why.
type Absent struct{ What, Why string }

// Versus is a comparison with a base.
type Versus struct {
	Base    string
	Verdict stat.Verdict
	// Reason says why there can be no verdict, "" if there can.
	Reason string
	// Headline is the verdict in words with its numbers.
	Headline string
	Diff     stat.Interval
	Worse    []Change
	Better   []Change
	Same     int
	LeftOut  []Absent
	Notes    []string
	// Figures are lines such as "turns 8.5, was 9.1".
	Figures []string
}

// Change is a task that went up or down: From and To as "3/3". Paths are the
// attempts that missed.
type Change struct {
	Task     string
	From, To string
	Missed   []string
	Paths    []string
}

// Docs are the texts of one score.
type Docs struct {
	Context Context
	Comment string // without its mark
	Check   CheckRun
	Summary string
	Outputs []Output
	// Why says what decided the conclusion.
	Why string
}

// CheckRun is a check run; ID and the fields after Annotations are GitHub's.
// Conclusion is success, failure or neutral.
type CheckRun struct {
	ID          int64
	Name, SHA   string
	ExternalID  string
	Conclusion  string
	Title       string
	Summary     string
	Text        string
	DetailsURL  string
	Annotations []Annotation

	URL       string
	Annotated int // how many annotations it has
}

// Annotation is a note on a line of a file; Line is from 1. Level is notice,
// warning or failure.
type Annotation struct {
	Path    string
	Line    int
	Level   string
	Title   string
	Message string
}

// Output is one output of a workflow step. Its value has no line break.
type Output struct{ Name, Value string }

// Make makes all texts of a score.
func Make(c Context, s Score, g Gate) Docs {
	conclusion, why := g.Judge(s)
	d := Docs{Context: c, Why: why}
	d.Comment = comment(c, s)
	d.Check = check(c, s, conclusion, why)
	d.Summary = summary(c, s, why)
	d.Outputs = outputs(s, conclusion)
	return d
}
