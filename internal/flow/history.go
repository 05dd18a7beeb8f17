package flow

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/compare"
	"github.com/assaybot/assay/internal/history"
	"github.com/assaybot/assay/internal/ledger"
	"github.com/assaybot/assay/internal/stat"
)

// HistoryBranch is the branch of results, unless another is named.
const HistoryBranch = "assay"

// Branches opens a branch of a remote, of which files below folder ("" for
// all) are read. Close removes what it kept on this machine.
type Branches func(ctx context.Context, remote, name, folder string) (Branch, error)

// Branch is a branch of a remote that is read and written.
type Branch interface {
	history.Branch
	// Tip is the last commit of a branch of the same remote, "" for none.
	Tip(ctx context.Context, name string) (string, error)
	Close() error
}

// HistoryPlace is where a history is. Remote is an address or a folder, "" for
// the repository of the workflow, or else for the origin of this folder.
type HistoryPlace struct{ Remote, Branch string }

func (f *Flow) historyBranch(ctx context.Context, p HistoryPlace) (Branch, error) {
	return f.openBranch(ctx, p, history.Folder)
}

// openBranch opens the branch of a place, with the files below a folder.
func (f *Flow) openBranch(ctx context.Context, p HistoryPlace, folder string) (Branch, error) {
	if f.Branches == nil {
		return nil, assay.Userf("this program can't reach branches of a remote")
	}
	remote := cmp.Or(p.Remote, f.GitHub.Remote)
	if remote == "" && f.Repos != nil {
		if r, err := f.Repos(ctx, "."); err == nil {
			remote = r.URL(ctx)
		}
	}
	if remote == "" {
		return nil, assay.Userf("no repository is named whose branch holds the history; name it with --remote")
	}
	return f.Branches(ctx, remote, cmp.Or(p.Branch, HistoryBranch), folder)
}

// readHistory are the runs of a branch; files that can't be read are told on
// log.
func (f *Flow) readHistory(ctx context.Context, p HistoryPlace, log io.Writer) (runs []history.Run, err error) {
	b, err := f.historyBranch(ctx, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	_, files, err := b.Read(ctx)
	if err != nil {
		return nil, err
	}
	runs, ps := history.Load(files)
	for _, p := range ps {
		if _, err := fmt.Fprintln(log, p); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// HistoryPush asks to post a results folder. ID is the run's, "" for one made
// of the results; Key names the series.
type HistoryPush struct {
	HistoryPlace
	Dir, ID, Key, Commit string
}

// PushHistory posts a results folder to the branch, where it isn't there.
func (f *Flow) PushHistory(ctx context.Context, p HistoryPush) (_ history.Pushed, err error) {
	r, err := f.historyRun(p)
	if err != nil {
		return history.Pushed{}, err
	}
	if len(r.Trials) == 0 {
		return history.Pushed{}, nil
	}
	b, err := f.historyBranch(ctx, p.HistoryPlace)
	if err != nil {
		return history.Pushed{}, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	return history.Push(ctx, b, r, pauseLonger)
}

// pauseLonger waits a little longer before each try, so that writers that
// collided come apart.
func pauseLonger(ctx context.Context, n int) error {
	t := time.NewTimer(min(time.Duration(n*n)*50*time.Millisecond, 5*time.Second))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// historyRun is a results folder as a run of the history. A folder in which
// nothing ever ran is a run without trials.
func (f *Flow) historyRun(p HistoryPush) (history.Run, error) {
	l, err := ledger.OpenRead(p.Dir)
	if err != nil {
		return history.Run{}, err
	}
	meta, err := l.Run()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return history.Run{}, err
	}
	plan, err := l.Plan()
	if errors.Is(err, fs.ErrNotExist) {
		return history.Run{}, assay.Userf("%s holds no results of assay (it has no %s)", p.Dir, ledger.PlanFile)
	}
	if err != nil {
		return history.Run{}, err
	}
	k := keeping{flow: f, cells: map[history.Cell]int{}, latest: map[string]assay.Result{}, spent: map[string]float64{}, unpriced: map[string]int{}}
	if ps := l.Each(k.attempt); len(ps) > 0 {
		return history.Run{}, fmt.Errorf("reading %s for the history: %w", p.Dir, ps.Err())
	}
	k.run = history.Run{Head: history.Head{ID: p.ID, Key: p.Key, Commit: cmp.Or(p.Commit, f.GitHub.SHA), When: meta.Started,
		Suite: short(meta.Suite), Version: meta.Version, URL: f.GitHub.Run}}
	for _, t := range plan.Trials {
		k.trial(t)
	}
	if len(k.latest) == 0 {
		k.run.Trials = nil
	}
	if k.run.When.IsZero() {
		k.run.When = k.first
	}
	if k.run.ID == "" {
		k.run.ID = idOf(k.run)
	}
	return k.run, nil
}

// idOf names a run by its series and what it holds: the same results may
// stand in two series.
func idOf(r history.Run) string {
	h := sha256.New()
	_, _ = fmt.Fprintln(h, r.Key, r.When.Unix(), r.Suite) // a hash takes everything
	for _, t := range r.Trials {
		_, _ = fmt.Fprintln(h, t.ID)
	}
	return "run-" + hex.EncodeToString(h.Sum(nil)[:8])
}

// short is a digest in few bytes, enough to tell tasks and suites apart.
func short(digest string) string {
	_, hex, ok := strings.Cut(digest, ":")
	if !ok {
		hex = digest
	}
	return hex[:min(16, len(hex))]
}

// keeping gathers a run of the history.
type keeping struct {
	flow     *Flow
	run      history.Run
	cells    map[history.Cell]int
	latest   map[string]assay.Result
	spent    map[string]float64
	unpriced map[string]int
	first    time.Time
}

func (k *keeping) attempt(found ledger.Found) bool {
	r := found.Result
	if r == nil {
		return true
	}
	ledger.Count(k.latest, *r)
	if k.first.IsZero() || r.Started.Before(k.first) {
		k.first = r.Started
	}
	usd, known := r.Cost()
	switch {
	case known:
		k.spent[r.Trial.ID] += usd
	case k.flow.UsesModels != nil && k.flow.UsesModels(r.Trial.Agent.Name):
		k.unpriced[r.Trial.ID]++
	}
	return true
}

func (k *keeping) trial(t assay.Trial) {
	r, ran := k.latest[t.ID]
	line := history.Trial{ID: t.ID, Task: t.Task, Digest: short(t.TaskDigest), Repeat: t.Repeat, Outcome: assay.NotRun}
	cell := history.Cell{Agent: t.Agent.Key(), Version: t.Agent.Version, Model: t.Model, Effort: t.Effort, Variant: t.Variant}
	if t.Agent.Name != cell.Agent {
		cell.Name = t.Agent.Name
	}
	if ran {
		cell.Ran = r.Agent.Version
		line.Outcome, line.Resolved, line.Turns = r.Outcome, r.Resolved, max(0, r.Agent.Turns)
		line.Seconds = roundTo(max(0, r.Finished.Sub(r.Started).Seconds()), 1)
		line.At = max(1, r.Finished.Unix())
		line.Spent, line.Unpriced = roundTo(k.spent[t.ID], 6), k.unpriced[t.ID]
		if usd, known := r.Cost(); known && k.flow.UsesModels != nil && k.flow.UsesModels(t.Agent.Name) {
			usd = roundTo(usd, 6)
			line.USD = &usd
		}
	}
	i, ok := k.cells[cell]
	if !ok {
		i = len(k.run.Cells)
		k.cells[cell], k.run.Cells = i, append(k.run.Cells, cell)
	}
	line.Cell = i
	k.run.Trials = append(k.run.Trials, line)
}

func roundTo(x float64, digits int) float64 {
	p := math.Pow(10, float64(digits))
	if x = math.Round(x*p) / p; math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// HistoryShow asks for what a history says of a series. Last is the number of
// runs that a trend is drawn of; Stale is the age from which the last run is
// too old.
type HistoryShow struct {
	HistoryPlace
	Key    string
	Last   int
	Stale  time.Duration
	Format string
}

// Shown is what a history says. Its JSON is the format "json".
type Shown struct {
	Schema int       `json:"schema"`
	Key    string    `json:"key,omitempty"`
	Runs   int       `json:"runs"`
	Last   time.Time `json:"last_run,omitzero"`
	Commit string    `json:"commit,omitempty"`
	Age    float64   `json:"age_seconds"`
	// Stale is true when the last run is older than was asked for, or there
	// is none.
	Stale bool `json:"stale"`
	// Month is what was spent in this month (UTC) in US dollars, and Unpriced
	// how many attempts cost an unknown sum.
	Month    float64     `json:"month_usd"`
	Unpriced int         `json:"month_unpriced"`
	Lines    []ShownLine `json:"series"`
}

// ShownLine is one agent, model, effort and variant. Verdict is that of its
// newest run against the last answers before, over the tasks that both
// finished unchanged; Why says why there is none.
type ShownLine struct {
	history.Series
	Verdict stat.Verdict  `json:"verdict"`
	Why     string        `json:"why,omitempty"`
	Tasks   int           `json:"tasks_compared"`
	Diff    stat.Interval `json:"difference"`
	Worse   []string      `json:"worse,omitempty"`
	Better  []string      `json:"better,omitempty"`
	// Current is false where the newest run didn't try it.
	Current bool `json:"current"`
}

// ShowHistory reads a history and writes what it says.
func (f *Flow) ShowHistory(ctx context.Context, r HistoryShow, w, log io.Writer) (Shown, error) {
	if !slices.Contains(compare.Formats(), r.Format) {
		return Shown{}, assay.Userf("there is no format %q of a history (there are %s)", r.Format, strings.Join(compare.Formats(), ", "))
	}
	runs, err := f.readHistory(ctx, r.HistoryPlace, log)
	if err != nil {
		return Shown{}, err
	}
	s := shown(runs, r, f.Now())
	return s, s.write(w, r)
}

// shown says what runs mean at a time.
func shown(runs []history.Run, r HistoryShow, now time.Time) Shown {
	s := Shown{Schema: history.Schema, Key: r.Key, Stale: true}
	s.Month, s.Unpriced = history.Spent(runs, month(now), now.Add(time.Second))
	s.Month = roundTo(s.Month, 6)
	runs = history.Of(runs, r.Key)
	s.Runs = len(runs)
	if len(runs) == 0 {
		return s
	}
	last := runs[len(runs)-1]
	s.Last, s.Commit = last.Ended(), last.Commit
	since := max(0, now.Sub(s.Last))
	s.Age, s.Stale = math.Round(since.Seconds()), r.Stale > 0 && since > r.Stale
	for _, series := range history.Trend(runs) {
		s.Lines = append(s.Lines, lineOf(runs, series, r.Last))
	}
	return s
}

// month is the first moment of t's month.
func month(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// lineOf compares a series' newest run with what was before.
func lineOf(runs []history.Run, series history.Series, most int) ShownLine {
	n := len(series.Points)
	line := ShownLine{Series: series, Verdict: stat.Unproven, Current: series.Points[n-1].Run == runs[len(runs)-1].ID}
	if most > 0 && n > most {
		line.Points = slices.Clone(series.Points[n-most:])
	}
	for len(runs) > 0 && runs[len(runs)-1].ID != series.Points[n-1].Run {
		runs = runs[:len(runs)-1]
	}
	newest, before := history.Before(runs, series.Cell)
	if len(before) == 0 {
		line.Why = "there is nothing before to compare with"
		return line
	}
	c := compare.Make(compare.Input{A: compare.Side{Name: "before", Trials: asCompared(before)}, B: compare.Side{Name: "now", Trials: asCompared(newest)}})
	line.Verdict, line.Why, line.Tasks, line.Diff = c.Verdict, c.Reason, c.Tasks, c.Diff
	for _, ch := range c.Worse {
		line.Worse = append(line.Worse, ch.Task)
	}
	for _, ch := range c.Better {
		line.Better = append(line.Better, ch.Task)
	}
	return line
}

func asCompared(trials []history.Trial) []compare.Trial {
	out := make([]compare.Trial, 0, len(trials))
	for _, t := range trials {
		c := compare.Trial{ID: t.ID, Task: t.Task, Digest: t.Digest, Repeat: t.Repeat, Outcome: t.Outcome, Resolved: t.Resolved,
			Turns: t.Turns, Seconds: t.Seconds, Spent: t.USD != nil || t.Unpriced > 0, Priced: t.USD != nil}
		if t.USD != nil {
			c.USD = *t.USD
		}
		out = append(out, c)
	}
	return out
}
