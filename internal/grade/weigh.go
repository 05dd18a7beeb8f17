package grade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/testlog"
)

// index finds the tests of a report by id.
type index struct {
	log   testlog.Log
	exact map[string]assay.TestResult
	loose map[string]assay.TestResult // by id with "::" as "."
}

func newIndex(log testlog.Log, exit ExitFacts) index {
	x := index{log: log, exact: map[string]assay.TestResult{}, loose: map[string]assay.TestResult{}}
	for i, t := range log.Tests {
		for _, dir := range []string{exit.Work, exit.Verify} {
			if dir != "" {
				t.ID = strings.TrimPrefix(t.ID, dir+"/")
			}
		}
		log.Tests[i].ID = t.ID
		enter(x.exact, t.ID, t)
		enter(x.loose, loose(t.ID), t)
	}
	return x
}

// enter keeps the first failing result of a key, else the first that isn't a
// pass, else any.
func enter(m map[string]assay.TestResult, key string, t assay.TestResult) {
	old, seen := m[key]
	worse := testlog.Failing(t.Status) && !testlog.Failing(old.Status) ||
		old.Status == assay.TestPassed && t.Status != assay.TestPassed
	if !seen || worse {
		m[key] = t
	}
}

// loose makes "module.Class::test" and "module.Class.test" the same.
func loose(id string) string { return strings.ReplaceAll(id, "::", ".") }

// find is the test called id; one that the report lacks is missing.
func (x index) find(id string) assay.TestResult {
	t, ok := x.exact[id]
	if !ok {
		t, ok = x.loose[loose(id)]
	}
	if !ok {
		t = assay.TestResult{Status: assay.TestMissing}
	}
	t.ID = id
	return t
}

// miss enters a test that isn't as it must be.
func miss(r *assay.CheckResult, t assay.TestResult) {
	if len(r.Misses) < maxMisses {
		r.Misses = append(r.Misses, t)
	}
}

// weigh decides by a report that could be read. What proves tampering comes
// first, then whether the report can be believed, then the tests, last
// whether the exit status agrees.
func (s Step) weigh(x index, exit ExitFacts) assay.CheckResult {
	r := result(s.Check)
	s.count(&r, x)
	r.Detail = describeMisses(r, x.log)
	if t := x.find(integrityID); t.Status != assay.TestMissing {
		return with(r, assay.CheckIntegrity, "the code under test tampered with the test runner: "+t.Message)
	}
	if exit.Code == tampered && s.ownRunner() {
		return with(r, assay.CheckIntegrity, "the code under test tampered with the test runner")
	}
	if forged := s.forged(x); len(forged) > 0 {
		return with(r, assay.CheckIntegrity, "tests that can't pass were reported as passed: "+some(forged))
	}
	if len(x.log.Suspect) > 0 {
		return with(r, assay.CheckFailed, "the report can't be believed: "+x.log.Suspect[0])
	}
	if s.all && r.Wanted == 0 {
		return with(r, assay.CheckFailed, "no test ran")
	}
	if len(r.Misses) > 0 {
		return with(r, assay.CheckFailed, r.Detail)
	}
	if exit.Code != 0 && !s.explains(x) {
		return with(r, assay.CheckFailed, fmt.Sprintf("exit status %d although every test passed", exit.Code))
	}
	r.Detail = ""
	return r
}

// with sets the status and reason; where a missed test states the requirement
// that it stands for, that is the clause.
func with(r assay.CheckResult, status assay.CheckStatus, detail string) assay.CheckResult {
	r.Status, r.Detail = status, detail
	for _, t := range r.Misses {
		if t.Clause != "" {
			r.Clause = t.Clause
			break
		}
	}
	return r
}

// count holds every wanted test and every canary against the report.
func (s Step) count(r *assay.CheckResult, x index) {
	expect := func(id string, kept bool, ok ...assay.TestStatus) {
		t := x.find(id)
		t.Kept = kept
		r.Wanted++
		if slices.Contains(ok, t.Status) {
			r.Passed++
			return
		}
		miss(r, t)
	}
	for _, id := range s.wanted {
		expect(id, false, assay.TestPassed)
	}
	for _, id := range s.kept {
		expect(id, true, assay.TestPassed, assay.TestXFail)
	}
	if s.all {
		for _, t := range x.log.Tests {
			if !s.canary(t.ID) {
				expect(t.ID, false, assay.TestPassed)
			}
		}
	}
	for _, id := range s.Check.MustFail {
		if t := x.find(id); t.Status != assay.TestFailed && t.Status != assay.TestError {
			t.Message = "this test must be reported as failed"
			miss(r, t)
		}
	}
}

func (s Step) canary(id string) bool {
	return slices.ContainsFunc(s.Check.MustFail, func(m string) bool { return loose(m) == loose(id) })
}

// forged lists the canaries that were reported as passed.
func (s Step) forged(x index) []string {
	var out []string
	for _, id := range s.Check.MustFail {
		if t := x.find(id); t.Status == assay.TestPassed || t.Status == assay.TestXPass {
			out = append(out, id)
		}
	}
	return out
}

// explains tells whether the report holds a reason for an exit status other
// than 0. A canary is one, unless the command was told to expect it.
func (s Step) explains(x index) bool {
	told := slices.Contains(s.Check.Command, "--must-fail")
	for _, t := range x.log.Tests {
		if testlog.Failing(t.Status) && (!told || !s.canary(t.ID)) {
			return true
		}
	}
	return len(x.log.BuildFailed) > 0
}

// Explains tells whether a report holds a reason for an exit status other than
// 0: a test that failed, or that couldn't be built.
func (s Step) Explains(log testlog.Log) bool { return s.explains(index{log: log}) }

// describeMisses is "2 of 5 tests didn't pass: a failed (why), b is missing".
func describeMisses(r assay.CheckResult, log testlog.Log) string {
	if len(r.Misses) == 0 {
		return ""
	}
	items := make([]string, 0, len(r.Misses))
	for _, t := range r.Misses {
		item := t.ID + " " + string(t.Status)
		if first, _, _ := strings.Cut(t.Message, "\n"); first != "" {
			item += " (" + first + ")"
		}
		items = append(items, item)
	}
	text := fmt.Sprintf("%d of %d tests didn't pass: %s", r.Wanted-r.Passed, r.Wanted, some(items))
	if r.Wanted == r.Passed {
		text = "a test that proves the report isn't as it must be: " + some(items)
	}
	if len(log.BuildFailed) > 0 {
		text += "; not built: " + some(log.BuildFailed)
	}
	return text
}
