package flow

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
)

// seen is an observation of tests written as "a+ b- c! ds e?": passed,
// failed, error, skipped, missing tests are left out.
func seen(text string) observation {
	o := observation{Tests: map[string]assay.TestStatus{}, Built: true}
	for i := 0; i+1 < len(text); i += 3 {
		o.Tests[text[i:i+1]] = map[byte]assay.TestStatus{
			'+': assay.TestPassed, '-': assay.TestFailed, '!': assay.TestError, 's': assay.TestSkipped,
		}[text[i+1]]
	}
	return o
}

func all(texts ...string) []observation {
	out := make([]observation, 0, len(texts))
	for _, t := range texts {
		out = append(out, seen(t))
	}
	return out
}

func TestProve(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after, probes []observation
		compileFails          bool
		want                  proof
	}{
		"a fix": {all("a- b+", "a- b+"), all("a+ b+", "a+ b+"), nil, false,
			proof{FailToPass: []string{"a"}, PassToPass: []string{"b"}}},
		"a failure that is an error the next time is one": {all("a- b+", "a! b+"), all("a+ b+", "a+ b+"), nil, false,
			proof{FailToPass: []string{"a"}, PassToPass: []string{"b"}}},
		"a test that wasn't there before": {all("b+"), all("a+ b+"), nil, false,
			proof{FailToPass: []string{"a"}, PassToPass: []string{"b"}}},
		"what is skipped before proves nothing": {all("a+ bs"), all("a+ b+"), nil, false,
			proof{PassToPass: []string{"a"}, Reason: assay.ReasonNoFailToPass}},
		"what breaks with the change is left out": {all("a- b+ c+"), all("a+ b+ c-"), nil, false,
			proof{FailToPass: []string{"a"}, PassToPass: []string{"b"}}},
		"one that varies before": {all("a- b+ c-", "a- b+ c+"), all("a+ b+ c+", "a+ b+ c+"), nil, false,
			proof{FailToPass: []string{"a"}, PassToPass: []string{"b"}, Flaky: []string{"c"}}},
		"one that varies after": {all("a- b+ c-", "a- b+ c-"), all("a+ b+ c+", "a+ b+ c-"), nil, false,
			proof{FailToPass: []string{"a"}, PassToPass: []string{"b"}, Flaky: []string{"c"}}},
		"all that it mends varies": {all("a- b+", "a- b+"), all("a+ b+", "a- b+"), nil, false,
			proof{PassToPass: []string{"b"}, Flaky: []string{"a"}, Reason: assay.ReasonFlaky}},
		"names that vary": {all("b+", "b+"), all("b+ x+", "b+ y+"), nil, false,
			proof{PassToPass: []string{"b"}, Flaky: []string{"x", "y"}, Reason: assay.ReasonFlaky}},
		"a refactoring": {all("a+ b+"), all("a+ b+"), nil, false,
			proof{PassToPass: []string{"a", "b"}, Reason: assay.ReasonNoFailToPass}},
		"the reference fails": {all("a-"), all("a-"), nil, false, proof{Reason: assay.ReasonGoldFails}},
		"nothing ran":         {all("a-"), all(""), nil, false, proof{Reason: assay.ReasonNoTestsRan}},
		"all are skipped":     {all("as"), all("as"), nil, false, proof{Reason: assay.ReasonNoTestsRan}},
		"the tests can't be built before": {all("m!"), all("a+"), nil, false,
			proof{FailToPass: []string{"a"}, Reason: assay.ReasonBuildFailBefore}},
		"and that is accepted": {all("m!"), all("a+"), nil, true, proof{FailToPass: []string{"a"}}},
		"another clock": {all("a- b- c+"), all("a+ b+ c+"), all("a+ b- c-"), false,
			proof{FailToPass: []string{"a"}, PassToPass: []string{}, Flaky: []string{"b", "c"}}},
		"another order takes all": {all("a- c+"), all("a+ c+"), all("a- c+"), false,
			proof{FailToPass: []string{}, PassToPass: []string{"c"}, Flaky: []string{"a"}, Reason: assay.ReasonFlaky}},
		"out of time":   {all("a-"), []observation{{TimedOut: true}}, nil, false, proof{Reason: assay.ReasonTimeout}},
		"out of memory": {all("a-"), []observation{{OOM: true}}, nil, false, proof{Reason: assay.ReasonTimeout}},
		"a report that contradicts itself": {all("a-"), []observation{{
			Built: true, Tests: seen("a+").Tests, Suspect: []string{"cut short"},
		}}, nil, false, proof{Reason: assay.ReasonBadReport}},
		"can't be built after": {all("a-"), []observation{{Suspect: []string{"cart.go:3: no"}}}, nil, false, proof{Reason: assay.ReasonNoTestsRan}},
	} {
		t.Run(name, func(t *testing.T) {
			got := prove(tc.before, tc.after, tc.probes, tc.compileFails)
			if got.Reason != "" && got.Detail == "" {
				t.Error("the reason has no words")
			}
			got.Detail = ""
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// A test that any run doubts never counts, whatever else was seen: more runs
// only take away.
func TestMoreRunsOnlyTakeTestsAway(t *testing.T) {
	texts := []string{"a- b+ c-", "a+ b+ c+", "a! b+", "b- c+", "a+ b+ cs"}
	for _, b1 := range texts {
		for _, b2 := range texts {
			for _, a1 := range texts {
				for _, a2 := range texts {
					one := prove(all(b1), all(a1), nil, true)
					two := prove(all(b1, b2), all(a1, a2), nil, true)
					if !within(two.FailToPass, one.FailToPass) || !within(two.PassToPass, one.PassToPass) {
						t.Errorf("%q %q then %q %q: %v %v became %v %v", b1, a1, b2, a2, one.FailToPass, one.PassToPass, two.FailToPass, two.PassToPass)
					}
				}
			}
		}
	}
}

func within(some, of []string) bool {
	have := map[string]bool{}
	for _, s := range of {
		have[s] = true
	}
	for _, s := range some {
		if !have[s] {
			return false
		}
	}
	return true
}

func TestStatusOfReasons(t *testing.T) {
	for reason, want := range map[assay.Reason]assay.CandidateStatus{
		"": assay.StatusValid, assay.ReasonFlaky: assay.StatusQuarantined, assay.ReasonNeedsNetwork: assay.StatusQuarantined,
		assay.ReasonGoldFails: assay.StatusRejected, assay.ReasonNopPasses: assay.StatusRejected,
	} {
		if got := status(reason); got != string(want) {
			t.Errorf("%q: %s, want %s", reason, got, want)
		}
	}
}

func TestEnvelopeIsTheMost(t *testing.T) {
	got := envelope([]observation{{Seconds: 1, CPUSec: 3, PeakMB: 20}, {Seconds: 2, CPUSec: 1, PeakMB: 10}}, 2, "linux/amd64")
	if d := cmp.Diff(&assay.Envelope{Seconds: 2, CPUSeconds: 3, MemoryMB: 20, CPUs: 2, Platform: "linux/amd64"}, got); d != "" {
		t.Error(d)
	}
}

func TestOrderOfEachRunner(t *testing.T) {
	for name, tc := range map[string]struct {
		command []string
		format  string
		want    []string
	}{
		"pytest":   {[]string{"python3", "-m", "pytest", "a"}, "junit", []string{"python3", "-m", "pytest", "a", "-p", "assay_reverse"}},
		"go":       {[]string{"sh", "-c", "go test -json . > {report}"}, "gotest-json", []string{"sh", "-c", "go test -shuffle=1 -json . > {report}"}},
		"vitest":   {[]string{"npx", "vitest", "run"}, "jest", []string{"npx", "vitest", "run", "--sequence.shuffle.tests", "--sequence.seed=1"}},
		"unittest": {[]string{"python3", "-I", "{runner}/unittest_junit.py"}, "junit", nil},
	} {
		task := assay.Task{Checks: []assay.Check{{Kind: assay.CheckTests, Command: tc.command, Report: &assay.Report{Format: tc.format}}}}
		a := orderArm(task, nil)
		if (a.argv != nil) != (tc.want != nil) || hasOrder(task) != (tc.want != nil) {
			t.Errorf("%s: an order is known: %v", name, hasOrder(task))
			continue
		}
		if a.argv != nil {
			if d := cmp.Diff(tc.want, a.argv(tc.command)); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
	}
}
