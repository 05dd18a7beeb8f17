package flow

import (
	"errors"
	"io"
	"io/fs"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/ledger"
	"github.com/assaybot/assay/internal/report"
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

func (f *Flow) buildReport(dir string) (report.Report, error) {
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
	results, problems := l.Results()
	return report.Build(report.Input{
		Title: "assay", SuiteDigest: meta.Suite, Results: results, Planned: plan.Trials,
		NotRun: plan.NotRun, Problems: problems, Strength: meta.Strength,
	}), nil
}

// Schemas are the names that Schema knows.
func Schemas() []string { return schema.Names() }

// Schema is the JSON schema of a kind of file.
func Schema(name string) ([]byte, error) { return schema.For(name) }
