package grade_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/grade"
	"github.com/assaybot/assay/internal/tree"
)

func sharded(scope assay.Scope, dropped ...string) assay.Task {
	c := junitCheck()
	c.Command, c.FileSec = []string{"run", "{tests}", "sh {tests} > {report}"}, 10
	c.Shards = [][]string{{"t/own.py"}, {"t/a b.py", "t/it's.py"}, {"t/c.py"}}
	t := assay.Task{Scope: scope, Checks: []assay.Check{c}, FailToPass: []string{"own::new"}, PassToPass: []string{"own::old", "a::a", "c::c"}}
	for _, d := range dropped {
		if t.Validation == nil {
			t.Validation = &assay.Validation{Dropped: map[string]string{}}
		}
		t.Validation.Dropped[d] = "slow"
	}
	return t
}

func TestStepsOfShards(t *testing.T) {
	type step struct {
		Name string
		Argv []string
		For  time.Duration
	}
	own := step{"hidden", []string{"run", "t/own.py", "sh 't/own.py' > R/report.xml"}, 300}
	for _, tt := range []struct {
		task assay.Task
		want []step
	}{
		{sharded(assay.ScopeAll), []step{own,
			{"hidden-2", []string{"run", "t/a b.py", "t/it's.py", `sh 't/a b.py' 't/it'\''s.py' > R/report.xml`}, 20},
			{"hidden-3", []string{"run", "t/c.py", "sh 't/c.py' > R/report.xml"}, 10}}},
		{sharded(assay.ScopeAll, "t/a b.py", "t/c.py"), []step{own,
			{"hidden-2", []string{"run", "t/it's.py", `sh 't/it'\''s.py' > R/report.xml`}, 10}}},
		{sharded(assay.ScopeOwn), []step{own}},
		{sharded(""), []step{own}},
	} {
		var got []step
		for _, s := range grade.Steps(tt.task) {
			got = append(got, step{s.Name(), s.Argv("W", "V", "R", "N"), s.Timeout / time.Second})
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("scope %q: %s", tt.task.Scope, d)
		}
	}
}

func TestJudgeParts(t *testing.T) {
	left := func(code int, cases ...string) grade.Left {
		return grade.Left{Exit: grade.ExitFacts{Code: code, Wall: time.Second, CPU: time.Second, PeakMB: 5 + code}, Reports: suite(cases...), Tail: []byte("tail")}
	}
	own, a, c := left(0, pass("own::new"), pass("own::old")), left(1, pass("a::a"), fail("a::known")), left(0, pass("c::c"))
	hung := grade.Left{Exit: grade.ExitFacts{TimedOut: true, Wall: 10 * time.Second}}
	for name, tt := range map[string]struct {
		left   []grade.Left
		want   assay.CheckStatus
		detail string
	}{
		"all pass":                    {[]grade.Left{own, a, c}, assay.CheckPassed, ""},
		"a regression elsewhere":      {[]grade.Left{own, a, left(1, fail("c::c"))}, assay.CheckFailed, "1 of 4 tests didn't pass: c::c failed"},
		"a test elsewhere is gone":    {[]grade.Left{own, left(0, pass("a::other")), c}, assay.CheckFailed, "a::a missing"},
		"one name, two verdicts":      {[]grade.Left{own, a, left(1, pass("c::c"), fail("a::a"))}, assay.CheckFailed, "a::a failed"},
		"a shard hangs":               {[]grade.Left{own, a, hung}, assay.CheckFailed, "c::c missing"},
		"a shard without any wanted":  {[]grade.Left{own, left(0, pass("a::a"), pass("c::c")), hung}, assay.CheckFailed, "hidden-3: no verdict within 10s"},
		"a shard's exit disagrees":    {[]grade.Left{own, a, left(4, pass("c::c"))}, assay.CheckFailed, "hidden-3: exit status 4 although every test passed"},
		"another shard's fault isn't": {[]grade.Left{left(1, pass("own::new"), pass("own::old")), a, c}, assay.CheckFailed, "hidden: exit status 1"},
		"a link for a report":         {[]grade.Left{own, a, {Reports: tree.Tree{"report.xml": {Mode: tree.Link, Data: []byte("x")}}}}, assay.CheckFailed, "c::c missing"},
	} {
		r := grade.JudgeParts(grade.Steps(sharded(assay.ScopeAll)), tt.left)
		if r.Status != tt.want || !strings.Contains(r.Detail, tt.detail) || tt.want == assay.CheckPassed && r.Detail != "" {
			t.Errorf("%s: %s %q, want %s %q", name, r.Status, r.Detail, tt.want, tt.detail)
		}
		if name == "all pass" && (r.Seconds != 3 || r.CPUSec != 3 || r.PeakMB != 6 || r.Wanted != 4 || *r.Exit != 1) {
			t.Errorf("figures: %+v", r)
		}
	}
}

func TestJudgePartsTellsTampering(t *testing.T) {
	task := sharded(assay.ScopeAll)
	task.Checks[0].Command[0] = "{runner}/x"
	left := []grade.Left{{Reports: suite(pass("own::new"), pass("own::old"))}, {Reports: suite(pass("a::a"))}, {Exit: grade.ExitFacts{Code: 3}, Reports: suite(pass("c::c"))}}
	if r := grade.JudgeParts(grade.Steps(task), left); r.Status != assay.CheckIntegrity {
		t.Errorf("%s: %s", r.Status, r.Detail)
	}
}

// An agent that edits a test elsewhere is graded with the test as it was.
func TestTestsOfTheWholeSuiteArePutBack(t *testing.T) {
	file := func(names ...string) tree.Tree {
		out := tree.Tree{}
		for _, n := range names {
			out[n] = tree.Text(n)
		}
		return out
	}
	words := []string{"t/a.py", "./pkg", "--test=it", "FooTest"}
	task := assay.Task{Scope: assay.ScopeAll, Checks: []assay.Check{{Kind: assay.CheckTests, Command: []string{"{tests}"}, Shards: [][]string{words}}}}
	tests := []string{"t/a.py", "pkg/x_test.go", "tests/it.rs", "src/FooTest.java"}
	base := file(append(tests, "pkg/x.go", "t/b.py", "other/x_test.go")...)
	after := tree.Tree{}
	for p := range base {
		after[p] = tree.Text("changed")
	}
	graded, _ := grade.Workspace(task, base, after, []string{"src/FooTest.java"})
	for p := range base {
		back := tree.Same(graded[p], base[p])
		want := p != "src/FooTest.java" && slices.Contains(tests, p)
		if back != want {
			t.Errorf("%s: put back %v, want %v", p, back, want)
		}
	}
}
