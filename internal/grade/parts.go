package grade

import (
	"fmt"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/testlog"
	"github.com/assaybot/assay/internal/tree"
)

// Left is what the command of one step left: see Judge.
type Left struct {
	Exit    ExitFacts
	Reports tree.Tree
	Tail    []byte
}

// JudgeParts decides a check whose command ran once per shard: steps are all
// its steps and left what each left, in the same order. The tests of all
// reports are weighed together, and each exit status has to agree with its own
// report. A part that left no report fails the check even if no wanted test
// was in it, since something kept it from running.
func JudgeParts(steps []Step, left []Left) assay.CheckResult {
	if len(steps) == 1 {
		return Judge(steps[0], left[0].Exit, left[0].Reports, left[0].Tail)
	}
	var whole testlog.Log
	var bad *assay.CheckResult
	var tail []byte
	for i, l := range left {
		log, r := steps[i].part(l)
		whole.Tests = append(whole.Tests, log.Tests...)
		whole.BuildFailed = append(whole.BuildFailed, log.BuildFailed...)
		whole.Suspect = append(whole.Suspect, log.Suspect...)
		if r != nil && (bad == nil || r.Status == assay.CheckIntegrity && bad.Status != assay.CheckIntegrity) {
			bad, tail = r, l.Tail
		}
	}
	first := left[0].Exit
	r := steps[0].weigh(newIndex(whole, first), ExitFacts{Work: first.Work, Verify: first.Verify})
	if bad != nil && (bad.Status == assay.CheckIntegrity || r.Status == assay.CheckPassed) {
		r.Status, r.Detail = bad.Status, bad.Detail
	}
	return withFigures(r, left, tail)
}

// part is the report of one shard, with its ids as they are weighed. bad is a
// verdict that the report doesn't explain.
func (s Step) part(l Left) (log testlog.Log, bad *assay.CheckResult) {
	if log, bad = s.read(l.Exit, l.Reports); bad != nil {
		bad.Detail = s.Name() + ": " + bad.Detail
		return log, bad
	}
	x := newIndex(log, l.Exit)
	switch {
	case l.Exit.Code == tampered && s.ownRunner():
		r := verdict(s.Check, assay.CheckIntegrity, "the code under test tampered with the test runner")
		bad = &r
	case l.Exit.Code != 0 && !s.explains(x):
		r := verdict(s.Check, assay.CheckFailed, "%s", fmt.Sprintf("%s: exit status %d although every test passed", s.Name(), l.Exit.Code))
		bad = &r
	}
	return x.log, bad
}

// withFigures adds what the parts took together.
func withFigures(r assay.CheckResult, left []Left, tail []byte) assay.CheckResult {
	code := 0
	for _, l := range left {
		r.Seconds += l.Exit.Wall.Seconds()
		r.CPUSec += l.Exit.CPU.Seconds()
		r.PeakMB = max(r.PeakMB, l.Exit.PeakMB)
		if code == 0 && !l.Exit.TimedOut && l.Exit.Signal == 0 {
			code = l.Exit.Code
		}
		if tail == nil && l.Exit.Code != 0 {
			tail = l.Tail
		}
	}
	r.Exit = &code
	if r.Status == assay.CheckFailed && len(tail) > 0 {
		r.Detail += "\n" + lastLines(tail)
	}
	return r
}
