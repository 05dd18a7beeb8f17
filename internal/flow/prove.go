package flow

import (
	"slices"
	"sort"

	"github.com/assaybot/assay/internal/assay"
)

// proof is what all observations of a task say together. It is derived from
// them alone.
type proof struct {
	FailToPass []string
	PassToPass []string
	Flaky      []string
	Reason     assay.Reason
	Detail     string
}

// prove sorts the tests by what they did before and after the change.
//
//   - FAIL_TO_PASS: failed, or was not there, in every "before", and passed in
//     every "after".
//   - PASS_TO_PASS: passed in every "before" and every "after".
//   - Flaky: had different verdicts within the befores or within the afters,
//     or in a probe (clock, order) that should change nothing.
//
// compileFails accepts that nothing ran before: the tests' own build failed.
func prove(before, after, probes []observation, compileFails bool) proof {
	var p proof
	if p.Reason, p.Detail = badRuns(after); p.Reason != "" {
		return p
	}
	ids := idsOf(before, after)
	for _, id := range ids {
		was, varied := verdict(before, id)
		is, variedToo := verdict(after, id)
		switch {
		case varied || variedToo:
			p.Flaky = append(p.Flaky, id)
		case is != assay.TestPassed:
		case was == assay.TestPassed:
			p.PassToPass = append(p.PassToPass, id)
		case broke(was):
			p.FailToPass = append(p.FailToPass, id)
		}
	}
	p.dropUnsteady(probes)
	p.conclude(before, after, compileFails)
	return p
}

// badRuns are reasons for which "after" proves nothing.
func badRuns(after []observation) (assay.Reason, string) {
	for _, o := range after {
		switch {
		case o.TimedOut:
			return assay.ReasonTimeout, "the tests didn't end in time with the reference solution"
		case o.OOM:
			return assay.ReasonTimeout, "the tests ran out of memory with the reference solution"
		case o.ran() == 0 && !o.Built && len(o.Tests) == 0:
			return assay.ReasonNoTestsRan, firstLine(o)
		case o.ran() == 0:
			return assay.ReasonNoTestsRan, "no test ran with the reference solution"
		case len(o.Suspect) > 0:
			return assay.ReasonBadReport, o.Suspect[0]
		}
	}
	return "", ""
}

func firstLine(o observation) string {
	if len(o.Suspect) > 0 {
		return o.Suspect[0]
	}
	return "the tests can't be built with the reference solution"
}

// idsOf are all ids of all observations, in order.
func idsOf(groups ...[]observation) []string {
	seen := map[string]bool{}
	for _, g := range groups {
		for _, o := range g {
			for id := range o.Tests {
				seen[id] = true
			}
		}
	}
	out := make([]string, 0, len(seen))
	for id := range seen {
		out = append(out, id)
	}
	sort.Strings(out)
	return out
}

// verdict is what a test did in a group of runs, and whether that varied.
func verdict(group []observation, id string) (status assay.TestStatus, varied bool) {
	for i, o := range group {
		s, ok := o.Tests[id]
		if !ok {
			s = assay.TestMissing
		}
		if i > 0 && kind(s) != kind(status) {
			varied = true
		}
		if i == 0 {
			status = s
		}
	}
	return status, varied
}

// kind joins statuses that mean the same for a proof: a test that fails in
// one run and errs in the next has not changed its mind.
func kind(s assay.TestStatus) assay.TestStatus {
	if broke(s) {
		return assay.TestFailed
	}
	return s
}

func broke(s assay.TestStatus) bool {
	switch s {
	case assay.TestFailed, assay.TestError, assay.TestMissing, assay.TestNotRun:
		return true
	}
	return false
}

// dropUnsteady takes out the tests that don't pass in a probe.
func (p *proof) dropUnsteady(probes []observation) {
	steady := func(id string) bool {
		for _, o := range probes {
			if o.Tests[id] != assay.TestPassed {
				return false
			}
		}
		return true
	}
	for _, list := range []*[]string{&p.FailToPass, &p.PassToPass} {
		*list = slices.DeleteFunc(*list, func(id string) bool {
			if steady(id) {
				return false
			}
			p.Flaky = append(p.Flaky, id)
			return true
		})
	}
	sort.Strings(p.Flaky)
	p.Flaky = slices.Compact(p.Flaky)
}

// conclude gives the reason for a task that isn't one.
func (p *proof) conclude(before, after []observation, compileFails bool) {
	switch {
	case len(p.FailToPass) > 0:
		if !compileFails && nothingRan(before, after) {
			p.Reason, p.Detail = assay.ReasonBuildFailBefore, "no test of the change ran before it; --compile-fails accepts that"
		}
	case len(p.Flaky) > 0 && flakyAlone(p.Flaky, before):
		p.Reason, p.Detail = assay.ReasonFlaky, "every test that the change mends varies from run to run"
	case allBroke(after):
		p.Reason, p.Detail = assay.ReasonGoldFails, "the tests fail with the reference solution too"
	default:
		p.Reason, p.Detail = assay.ReasonNoFailToPass, "every test that passes after the change passed before it"
	}
}

// nothingRan tells whether none of the tests that run after the change gave a
// verdict before it.
func nothingRan(before, after []observation) bool {
	for _, id := range idsOf(after) {
		for _, o := range before {
			if _, ok := o.Tests[id]; ok {
				return false
			}
		}
	}
	return true
}

// flakyAlone tells whether a flaky test failed in some "before".
func flakyAlone(flaky []string, before []observation) bool {
	for _, id := range flaky {
		for _, o := range before {
			if s, ok := o.Tests[id]; !ok || broke(s) {
				return true
			}
		}
	}
	return false
}

func allBroke(group []observation) bool {
	for _, o := range group {
		for _, s := range o.Tests {
			if !broke(s) && s != assay.TestSkipped {
				return false
			}
		}
	}
	return true
}

// envelope is the most that any run with the solution needed.
func envelope(after []observation, cpus float64, platform string) *assay.Envelope {
	e := &assay.Envelope{CPUs: cpus, Platform: platform}
	for _, o := range after {
		e.Seconds = max(e.Seconds, o.Seconds)
		e.CPUSeconds = max(e.CPUSeconds, o.CPUSec)
		e.MemoryMB = max(e.MemoryMB, o.PeakMB)
	}
	return e
}
