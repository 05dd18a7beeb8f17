package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/plain"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Error   *junitText `xml:"error"`
	Skipped *junitText `xml:"skipped"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes one testsuite per row of Headline and one testcase per
// trial: passed, failure (the agent's), error (infra), skipped (not run or
// cancelled).
func writeJUnit(out *bytes.Buffer, r Report) error {
	misses := map[string]Miss{}
	for _, m := range r.Misses {
		misses[m.ID] = m
	}
	groups := group(r.Trials, withoutTask)
	all := junitSuites{Name: clean(r.Title)}
	for _, row := range r.Headline {
		s := junitSuite{Name: row.label()}
		secs := 0.0
		for _, t := range groups[row.Key] {
			secs += t.Seconds
			s.add(t, misses[t.ID])
		}
		s.Time = xmlSeconds(secs)
		all.Suites = append(all.Suites, s)
		all.Tests, all.Failures = all.Tests+s.Tests, all.Failures+s.Failures
		all.Errors, all.Skipped = all.Errors+s.Errors, all.Skipped+s.Skipped
	}
	out.WriteString(xml.Header)
	enc := xml.NewEncoder(out)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("writing the report as JUnit XML: %w", err)
	}
	out.WriteByte('\n')
	return nil
}

func (s *junitSuite) add(t Trial, m Miss) {
	c := junitCase{Name: caseName(t), Class: withoutTask(t.Key).label(), Time: xmlSeconds(t.Seconds)}
	text := &junitText{Message: plain.Line(message(t, m), maxCell), Type: string(t.Outcome), Text: m.text()}
	s.Tests++
	switch {
	case t.Outcome == assay.Passed:
	case t.Outcome.InRate():
		c.Failure = text
		s.Failures++
	case t.Outcome == assay.InfraFail:
		c.Error = text
		s.Errors++
	default:
		// A skipped element has no type and needs no text.
		c.Skipped = &junitText{Message: plain.Line(string(t.Outcome)+": "+reason(t), maxCell)}
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// caseName is the task, with the repeat, so that names are unique in a suite.
func caseName(t Trial) string {
	return clean(t.Task) + " [repeat " + strconv.Itoa(t.Repeat) + "]"
}

func message(t Trial, m Miss) string {
	for _, b := range m.Clauses {
		if b.Clause != "" {
			return m.outcome() + ": " + b.Clause
		}
	}
	if d := firstLine(t.Detail); d != "" {
		return m.outcome() + ": " + d
	}
	return m.outcome()
}

// text lists the clauses, one a line.
func (m Miss) text() string {
	var b strings.Builder
	for _, l := range m.lines() {
		var parts []string
		for _, p := range []string{l.name(), l.test(), l.Clause, l.Message} {
			if p = plain.Line(p, maxCell); p != "" {
				parts = append(parts, p)
			}
		}
		if len(parts) > 0 {
			b.WriteString(strings.Join(parts, ": ") + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func xmlSeconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }
