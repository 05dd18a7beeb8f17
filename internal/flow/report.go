package flow

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/atif"
	"github.com/assaybot/assay/internal/ledger"
	"github.com/assaybot/assay/internal/modes"
	"github.com/assaybot/assay/internal/report"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/schema"
)

// Render says how a report is drawn on a terminal.
type Render struct {
	Width int
	Color bool
}

// KnownFormat is a user error for a format that no report has.
func KnownFormat(format string) error {
	formats := report.Formats()
	for _, f := range formats {
		if f == format {
			return nil
		}
	}
	return assay.Userf("there is no report format %q (there are %v)", format, formats)
}

// Report rebuilds the tables of a results folder from its files alone.
func (f *Flow) Report(dir, format string, r Render, w io.Writer) error {
	rep, err := f.buildReport(dir)
	if err != nil {
		return err
	}
	return report.Style{Format: format, Width: r.Width, Color: r.Color}.Render(rep, w)
}

func (f *Flow) buildReport(dir string) (report.Report, error) { return f.buildView(dir, view{}) }

// view is a part of a results folder; a nil function keeps all.
type view struct {
	trials  func(assay.Trial) bool
	results func(assay.Result) bool
}

func kept[T any](all []T, keep func(T) bool) []T {
	if keep == nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(t T) bool { return !keep(t) })
}

// buildView is the report of a part of a folder. What was left out of the plan
// is only told of the whole.
func (f *Flow) buildView(dir string, v view) (report.Report, error) {
	if !isDir(dir) {
		return report.Report{}, assay.Userf("there is no results folder %s", dir)
	}
	l, err := ledger.OpenRead(dir)
	if err != nil {
		return report.Report{}, err
	}
	plan, err := l.Plan()
	if errors.Is(err, fs.ErrNotExist) {
		return report.Report{}, assay.Userf("%s holds no results of assay (it has no %s)", dir, ledger.PlanFile)
	}
	if err != nil {
		return report.Report{}, err
	}
	meta, err := l.Run()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return report.Report{}, err
	}
	if v.trials != nil {
		plan.NotRun = nil
	}
	results, how, problems := readResults(l)
	return report.Build(report.Input{
		Title: "assay", SuiteDigest: meta.Suite, Results: kept(results, v.results), Planned: kept(plan.Trials, v.trials),
		NotRun: plan.NotRun, Problems: problems, Strength: meta.Strength, Modes: how,
	}), nil
}

// readResults are the finished attempts, and how they went wrong.
func readResults(l *ledger.Ledger) (results []assay.Result, of map[string][]assay.Mode, problems assay.Problems) {
	of = map[string][]assay.Mode{}
	problems = l.Each(func(f ledger.Found) bool {
		if f.Result == nil {
			return true
		}
		results = append(results, *f.Result)
		if found := modesOf(f); len(found) > 0 {
			of[report.ModeKey(*f.Result)] = found
		}
		return true
	})
	return results, of, problems
}

// maxTrajectory bounds what is read of one trajectory.
const maxTrajectory = 256 << 20

// modesOf reads an attempt's trajectory step by step. One that is missing or
// broken has no steps, or fewer: the result's facts stand without.
func modesOf(f ledger.Found) []assay.Mode {
	w := modes.New(*f.Result)
	if !f.Result.Outcome.InRate() {
		return nil
	}
	file, err := os.Open(filepath.Join(f.Attempt.Dir, run.TrajectoryFile))
	if err != nil {
		return w.Modes()
	}
	defer func() { _ = file.Close() }()
	_ = atif.EachStep(io.LimitReader(file, maxTrajectory), w.Step) // what it lacks is not held against the agent
	return w.Modes()
}

// Schemas are the names that Schema knows.
func Schemas() []string { return schema.Names() }

// Schema is the JSON schema of a kind of file.
func Schema(name string) ([]byte, error) { return schema.For(name) }
