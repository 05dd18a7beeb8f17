// Package grade decides whether a task was solved, from plain values: the
// tree before, the tree after, and what the hidden checks' commands left. It
// puts protected configuration back to its state at the base, says which
// commands are to run, reads their reports and looks at files. It never
// starts a process, reads no file but those built into it, and never takes
// the word of the code under test: a test that is missing, skipped or one of
// none is no pass, and an exit status that contradicts the report decides
// against it.
package grade

import (
	"fmt"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// Summary derives the strict bit and the outcome from the checks. A breach of
// integrity weighs most, then a failure (the task stays unsolved whatever
// else is), then a broken check, which is an infrastructure failure of kind
// grader. detail names the first check that decided and the clause that it
// breaks; it is "" when all passed.
func Summary(results []assay.CheckResult) (resolved bool, outcome assay.Outcome, detail string) {
	if len(results) == 0 {
		return false, assay.InfraFail, "no check was graded"
	}
	order := []struct {
		status  assay.CheckStatus
		outcome assay.Outcome
	}{{assay.CheckIntegrity, assay.Integrity}, {assay.CheckFailed, assay.Failed}, {assay.CheckBroken, assay.InfraFail}}
	for _, o := range order {
		for _, r := range results {
			if r.Status == o.status {
				return false, o.outcome, sentence(r)
			}
		}
	}
	for _, r := range results {
		if r.Status != assay.CheckPassed {
			return false, assay.InfraFail, fmt.Sprintf("%s: %q is no status of a check", r.Name, r.Status)
		}
	}
	return true, assay.Passed, ""
}

// sentence is "clause (check: detail)".
func sentence(r assay.CheckResult) string {
	why := r.Name
	if r.Detail != "" {
		first, _, _ := strings.Cut(r.Detail, "\n")
		why += ": " + first
	}
	if r.Clause == "" {
		return why
	}
	return fmt.Sprintf("%s (%s)", r.Clause, why)
}

// result begins the verdict on a check.
func result(c assay.Check) assay.CheckResult {
	return assay.CheckResult{Name: c.Name, Kind: c.Kind, Clause: c.Clause, Status: assay.CheckPassed}
}

// verdict is a verdict with its reason.
func verdict(c assay.Check, s assay.CheckStatus, format string, args ...any) assay.CheckResult {
	r := result(c)
	r.Status, r.Detail = s, fmt.Sprintf(format, args...)
	return r
}

// some lists up to ten of items and how many more there are.
func some(items []string) string {
	const most = 10
	if len(items) <= most {
		return strings.Join(items, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:most], ", "), len(items)-most)
}
