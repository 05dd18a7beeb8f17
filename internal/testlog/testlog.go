// Package testlog reads the reports that test programs write (JUnit XML,
// "go test -json", TAP, ...) and gives every test one of the statuses of
// assay.TestStatus. Reports are made next to code that nobody trusts, so
// whatever doesn't add up (a torn file, totals that contradict the cases, two
// reports where one is expected) is noted as Suspect. It never judges, never
// guesses a format, never drops a test without a note, and reads no file.
package testlog

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// Log is what a report says.
type Log struct {
	// Tests in the order of their first mention, each id once: where a
	// report names a test twice, its worst status stands.
	Tests []assay.TestResult
	// BuildFailed names the packages or targets that didn't compile; none
	// of their tests ran.
	BuildFailed []string
	// Suspect are the reasons, one sentence each, for which the report
	// can't be taken as complete and true.
	Suspect []string
}

// Names of the formats.
const (
	JUnit      = "junit"       // one JUnit XML document; pytest's and cargo-nextest's too
	Surefire   = "surefire"    // a folder of JUnit XML files, as Surefire and Gradle write it
	GoTest     = "gotest-json" // go test -json
	PytestText = "pytest-text" // pytest -v or pytest -rA
	Unittest   = "unittest"    // python -m unittest -v
	TAP        = "tap"         // TAP 13 and 14
	Jest       = "jest"        // jest --json, vitest --reporter=json
	Mocha      = "mocha"       // mocha --reporter json
	Cargo      = "cargo"       // cargo test
)

// maxReport bounds what one report may hold, in bytes.
const maxReport = 256 << 20

// maxText bounds the message of one test, in bytes.
const maxText = 2000

// maxSuspect bounds the number of notes of one report.
const maxSuspect = 20

// Formats lists the formats that Parse knows, in the order of the
// documentation.
func Formats() []string {
	return []string{JUnit, Surefire, GoTest, PytestText, Unittest, TAP, Jest, Mocha, Cargo}
}

// parser reads one whole report into a book.
type parser func(data []byte, b *book)

func parserOf(format string) parser {
	switch format {
	case JUnit:
		return func(data []byte, b *book) { parseJUnit(data, false, b) }
	case Surefire:
		return func(data []byte, b *book) { parseJUnit(data, true, b) }
	case GoTest:
		return parseGoTest
	case PytestText:
		return parsePytest
	case Unittest:
		return parseUnittest
	case TAP:
		return parseTAP
	case Jest:
		return parseJest
	case Mocha:
		return parseMocha
	case Cargo:
		return parseCargo
	}
	return nil
}

// Parse reads one report. An error means that the format is unknown (a user's
// mistake) or that r failed or is over 256 MiB; whatever the report itself
// holds is never an error.
func Parse(format string, r io.Reader) (Log, error) {
	p := parserOf(format)
	if p == nil {
		return Log{}, unknownFormat(format)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxReport+1))
	if err != nil {
		return Log{}, fmt.Errorf("reading a %s report: %w", format, err)
	}
	if len(data) > maxReport {
		return Log{}, fmt.Errorf("reading a %s report: it is larger than %d MiB", format, maxReport>>20)
	}
	b := newBook()
	p(data, b)
	return b.log, nil
}

// ParseAll reads a report that is made of files, by name. Only surefire
// expects several of them (those that end in .xml); with any other format
// more than one file is suspect. No file is an empty Log.
func ParseAll(format string, files map[string][]byte) (Log, error) {
	p := parserOf(format)
	if p == nil {
		return Log{}, unknownFormat(format)
	}
	names := make([]string, 0, len(files))
	for name := range files {
		if format != Surefire || strings.HasSuffix(name, ".xml") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	b := newBook()
	if format != Surefire && len(names) > 1 {
		b.suspect("there are several reports where one is expected: %s", clip(strings.Join(names, ", "), 300))
	}
	for _, name := range names {
		b.file = ""
		if len(names) > 1 {
			b.file = name + ": "
		}
		if len(files[name]) > maxReport {
			b.suspect("the report is larger than %d MiB", maxReport>>20)
			continue
		}
		p(files[name], b)
	}
	return b.log, nil
}

func unknownFormat(format string) error {
	return assay.Userf("%q is no report format; the formats are %s", format, strings.Join(Formats(), ", "))
}

// book collects a Log.
type book struct {
	log  Log
	at   map[string]int
	file string // prefix of notes
}

func newBook() *book { return &book{at: map[string]int{}} }

// add enters a test; the worst status of one id stands.
func (b *book) add(t assay.TestResult) {
	t.ID = strings.ToValidUTF8(t.ID, "\uFFFD")
	t.Clause = clip(strings.TrimSpace(t.Clause), maxText)
	t.Message = clip(strings.TrimSpace(t.Message), maxText)
	if strings.TrimSpace(t.ID) == "" {
		b.suspect("a test has no name")
		return
	}
	i, seen := b.at[t.ID]
	if !seen {
		b.at[t.ID] = len(b.log.Tests)
		b.log.Tests = append(b.log.Tests, t)
		return
	}
	old := b.log.Tests[i]
	if rank(t.Status) < rank(old.Status) {
		t, old = old, t
	}
	if t.Clause == "" {
		t.Clause = old.Clause
	}
	if t.Message == "" && rank(old.Status) == rank(t.Status) {
		t.Message = old.Message
	}
	b.log.Tests[i] = t
}

// drop takes out every test for which gone is true.
func (b *book) drop(gone func(id string) bool) (n int) {
	kept := b.log.Tests[:0]
	for _, t := range b.log.Tests {
		if gone(t.ID) {
			n++
			continue
		}
		kept = append(kept, t)
	}
	b.log.Tests = kept
	b.at = map[string]int{}
	for i, t := range kept {
		b.at[t.ID] = i
	}
	return n
}

func (b *book) suspect(format string, args ...any) {
	if len(b.log.Suspect) < maxSuspect {
		b.log.Suspect = append(b.log.Suspect, b.file+strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD"))
	}
}

func (b *book) buildFailed(name string) {
	for _, known := range b.log.BuildFailed {
		if known == name {
			return
		}
	}
	b.log.BuildFailed = append(b.log.BuildFailed, name)
}

// rank orders statuses from best to worst.
func rank(s assay.TestStatus) int {
	order := []assay.TestStatus{assay.TestPassed, assay.TestXFail, assay.TestXPass, assay.TestSkipped,
		assay.TestFailed, assay.TestError}
	for i, o := range order {
		if s == o {
			return i
		}
	}
	return len(order)
}

// Failing tells whether a test program calls a test with status s a failure.
// It says nothing of skipped, missing or expected failures.
func Failing(s assay.TestStatus) bool {
	return s == assay.TestFailed || s == assay.TestError || s == assay.TestXPass
}
