package testlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// decodeOne reads data as exactly one JSON value.
func decodeOne(data []byte, into any, b *book) bool {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	if err := dec.Decode(into); err != nil {
		b.suspect("the JSON is torn or malformed: %v", err)
		return false
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		b.suspect("there is more than one JSON value")
	}
	return true
}

type jestReport struct {
	NumTotalTests   *int `json:"numTotalTests"`
	NumPassedTests  *int `json:"numPassedTests"`
	NumFailedTests  *int `json:"numFailedTests"`
	NumFailedSuites int  `json:"numFailedTestSuites"`
	Success         *bool
	WasInterrupted  bool
	TestResults     []jestFile
}

type jestFile struct {
	Name, Status, Message string
	AssertionResults      []jestTest
}

type jestTest struct {
	AncestorTitles          []string
	FullName, Title, Status string
	Duration                float64
	FailureMessages         []string
}

// parseJest reads the JSON of jest and vitest. A test's id is
// "file::full name"; a file that failed as a whole is its own id.
func parseJest(data []byte, b *book) {
	var r jestReport
	if !decodeOne(data, &r, b) {
		return
	}
	if r.NumTotalTests == nil {
		b.suspect("numTotalTests is missing: this is no jest report")
	}
	if r.WasInterrupted {
		b.suspect("the run was interrupted")
	}
	count := map[assay.TestStatus]int{}
	total, broken := 0, 0
	for _, f := range r.TestResults {
		for _, t := range f.AssertionResults {
			res := t.result(f.Name)
			total++
			count[res.Status]++
			b.add(res)
		}
		if f.Status == "failed" && !f.anyFailed() {
			broken++
			b.add(assay.TestResult{ID: f.Name, Status: assay.TestError, Message: f.Message})
		}
	}
	compare(b, "tests", r.NumTotalTests, total)
	compare(b, "passed tests", r.NumPassedTests, count[assay.TestPassed])
	compare(b, "failed tests", r.NumFailedTests, count[assay.TestFailed])
	if r.Success != nil && *r.Success && count[assay.TestFailed]+broken > 0 {
		b.suspect("the report says success though a test failed")
	}
}

func (f jestFile) anyFailed() bool {
	for _, t := range f.AssertionResults {
		if t.Status == "failed" {
			return true
		}
	}
	return false
}

func (t jestTest) result(file string) assay.TestResult {
	name := t.FullName
	if name == "" {
		name = strings.Join(append(append([]string{}, t.AncestorTitles...), t.Title), " ")
	}
	r := assay.TestResult{ID: file + "::" + name, Status: assay.TestSkipped, Seconds: t.Duration / 1000}
	switch t.Status {
	case "passed":
		r.Status = assay.TestPassed
	case "failed":
		r.Status = assay.TestFailed
		r.Message = strings.Join(t.FailureMessages, "\n")
	}
	return r
}

func compare(b *book, what string, declared *int, found int) {
	if declared != nil && *declared != found {
		b.suspect("%d %s declared, %d found", *declared, what, found)
	}
}

type mochaReport struct {
	Stats    *mochaStats
	Tests    []mochaTest
	Passes   []mochaTest
	Failures []mochaTest
	Pending  []mochaTest
}

type mochaStats struct{ Tests, Passes, Failures, Pending *int }

type mochaTest struct {
	FullTitle, File string
	Duration        float64
	Err             struct{ Message string }
}

func (t mochaTest) id() string {
	if t.File == "" {
		return t.FullTitle
	}
	return t.File + "::" + t.FullTitle
}

// parseMocha reads the JSON of mocha. A test's id is "file::full title"; a
// hook that failed is a test of its own.
func parseMocha(data []byte, b *book) {
	var r mochaReport
	if !decodeOne(data, &r, b) {
		return
	}
	if r.Stats == nil {
		b.suspect("stats is missing: this is no mocha report")
		r.Stats = &mochaStats{}
	}
	lists := []struct {
		tests  []mochaTest
		status assay.TestStatus
	}{{r.Passes, assay.TestPassed}, {r.Failures, assay.TestFailed}, {r.Pending, assay.TestSkipped}}
	for _, l := range lists {
		for _, t := range l.tests {
			b.add(assay.TestResult{ID: t.id(), Status: l.status, Seconds: t.Duration / 1000, Message: t.Err.Message})
		}
	}
	for _, t := range r.Tests {
		if _, ok := b.at[t.id()]; !ok {
			b.add(assay.TestResult{ID: t.id(), Status: assay.TestError, Message: "the test ran and has no verdict"})
		}
	}
	compare(b, "tests", r.Stats.Tests, len(r.Tests))
	compare(b, "passes", r.Stats.Passes, len(r.Passes))
	compare(b, "failures", r.Stats.Failures, len(r.Failures))
	compare(b, "pending tests", r.Stats.Pending, len(r.Pending))
}
