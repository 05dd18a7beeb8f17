package grade_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/grade"
	"github.com/assaybot/assay/internal/tree"
)

// junitCheck wants the given tests of a JUnit report.
func junitCheck(tests ...string) assay.Check {
	return assay.Check{Name: "hidden", Kind: assay.CheckTests, Command: []string{"run", "{verify}", "{report}"},
		Report: &assay.Report{Format: "junit"}, Tests: tests}
}

// suite is a JUnit report of testcases.
func suite(cases ...string) tree.Tree {
	return tree.Tree{"report.xml": tree.Text("<testsuite>" + strings.Join(cases, "") + "</testsuite>")}
}

func pass(id string) string { return tc(id, "") }
func fail(id string) string { return tc(id, `<failure message="no"/>`) }
func skip(id string) string { return tc(id, `<skipped/>`) }
func tc(id, inner string) string {
	class, name, _ := strings.Cut(id, "::")
	return `<testcase classname="` + class + `" name="` + name + `">` + inner + `</testcase>`
}

func judge(c assay.Check, exit int, reports tree.Tree) assay.CheckResult {
	return judgeTask(assay.Task{Checks: []assay.Check{c}}, exit, reports)
}

func judgeTask(task assay.Task, exit int, reports tree.Tree) assay.CheckResult {
	return grade.Judge(grade.Steps(task)[0], grade.ExitFacts{Code: exit}, reports, []byte("PASSED m::a\nOK"))
}

func TestJudgeTests(t *testing.T) {
	canary := junitCheck("m::a")
	canary.MustFail = []string{"m::canary"}
	told := canary
	told.Command = []string{"run", "--must-fail", "m::canary"}
	tests := []struct {
		name    string
		check   assay.Check
		exit    int
		reports tree.Tree
		want    assay.CheckStatus
		detail  string
	}{
		{"passed", junitCheck("m::a"), 0, suite(pass("m::a")), assay.CheckPassed, ""},
		{"dotted id", junitCheck("m.a"), 0, suite(pass("m::a")), assay.CheckPassed, ""},
		{"other form of a dotted id", junitCheck("m.C::a"), 0, tree.Tree{"report.xml": tree.Text(`<testsuite><testcase name="m.C.a"/></testsuite>`)}, assay.CheckPassed, ""},
		{"failed", junitCheck("m::a"), 1, suite(fail("m::a")), assay.CheckFailed, "1 of 1 tests didn't pass: m::a failed (no)"},
		{"failed and exit 0", junitCheck("m::a"), 0, suite(fail("m::a")), assay.CheckFailed, "m::a failed"},
		{"missing", junitCheck("m::a", "m::b"), 0, suite(pass("m::a")), assay.CheckFailed, "1 of 2 tests didn't pass: m::b missing"},
		{"skipped", junitCheck("m::a"), 0, suite(skip("m::a")), assay.CheckFailed, "m::a skipped"},
		{"failed and passed", junitCheck("m::a"), 1, suite(fail("m::a"), pass("m::a")), assay.CheckFailed, "m::a failed"},
		{"another test failed", junitCheck("m::a"), 1, suite(pass("m::a"), fail("m::other")), assay.CheckPassed, ""},
		{"exit disagrees", junitCheck("m::a"), 1, suite(pass("m::a")), assay.CheckFailed, "exit status 1 although every test passed"},
		{"no report", junitCheck("m::a"), 0, tree.Tree{}, assay.CheckFailed, "wrote no report (exit status 0)"},
		{"no program", junitCheck("m::a"), 127, tree.Tree{}, assay.CheckFailed, "wasn't found"},
		{"another file only", junitCheck("m::a"), 0, tree.Tree{"other.xml": tree.Text("<testsuite/>")}, assay.CheckFailed, "wrote no report"},
		{"a link", junitCheck("m::a"), 0, tree.Tree{"report.xml": {Mode: tree.Link, Data: []byte("/verify/r.xml")}}, assay.CheckFailed, "is a link"},
		{"torn", junitCheck("m::a"), 0, tree.Tree{"report.xml": tree.Text(`<testsuite><testcase classname="m" name="a"/>`)}, assay.CheckFailed, "can't be believed"},
		{"empty", junitCheck("m::a"), 0, tree.Tree{"report.xml": tree.Text("")}, assay.CheckFailed, "wrote no report"},
		{"all: none", junitCheck(), 0, suite(), assay.CheckFailed, "no test ran"},
		{"all: passed", junitCheck(), 0, suite(pass("m::a"), pass("m::b")), assay.CheckPassed, ""},
		{"all: one skipped", junitCheck(), 0, suite(pass("m::a"), skip("m::b")), assay.CheckFailed, "1 of 2 tests didn't pass: m::b skipped"},
		{"canary failed", canary, 1, suite(pass("m::a"), fail("m::canary")), assay.CheckPassed, ""},
		{"canary passed", canary, 0, suite(pass("m::a"), pass("m::canary")), assay.CheckIntegrity, "reported as passed: m::canary"},
		{"canary missing", canary, 0, suite(pass("m::a")), assay.CheckFailed, "m::canary missing"},
		{"canary skipped", canary, 0, suite(pass("m::a"), skip("m::canary")), assay.CheckFailed, "m::canary skipped"},
		{"canary expected", told, 0, suite(pass("m::a"), fail("m::canary")), assay.CheckPassed, ""},
		{"canary expected, exit disagrees", told, 1, suite(pass("m::a"), fail("m::canary")), assay.CheckFailed, "exit status 1 although"},
		{"unknown format", assay.Check{Kind: assay.CheckTests, Report: &assay.Report{Format: "auto"}}, 0, nil, assay.CheckBroken, "no known report format"},
		{"benchmark", assay.Check{Kind: assay.CheckBenchmark}, 0, nil, assay.CheckBroken, "isn't decided"},
		{"command", assay.Check{Kind: assay.CheckCommand}, 0, nil, assay.CheckPassed, ""},
		{"command failed", assay.Check{Kind: assay.CheckCommand}, 3, nil, assay.CheckFailed, "exit status 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := judge(tt.check, tt.exit, tt.reports)
			if r.Status != tt.want || !strings.Contains(r.Detail, tt.detail) || (tt.want == assay.CheckPassed && r.Detail != "") {
				t.Errorf("%s %q, want %s %q", r.Status, r.Detail, tt.want, tt.detail)
			}
		})
	}
}

func TestJudgeAbnormalEnds(t *testing.T) {
	steps := grade.Steps(assay.Task{Checks: []assay.Check{junitCheck("m::a"), {Name: "c", Kind: assay.CheckCommand}}})
	for _, s := range steps {
		for want, e := range map[string]grade.ExitFacts{
			"no verdict within 5s": {TimedOut: true, Wall: 5 * time.Second, Signal: 9},
			"out of memory":        {OOM: true, Signal: 9},
			"signal 11":            {Signal: 11},
		} {
			r := grade.Judge(s, e, suite(pass("m::a")), nil)
			if r.Status != assay.CheckFailed || !strings.Contains(r.Detail, want) || r.Exit != nil && e.Signal != 0 {
				t.Errorf("%s: %+v", want, r)
			}
		}
	}
}

func TestClauseOfAMissedTest(t *testing.T) {
	c := junitCheck("m::a", "m::b")
	c.Clause = "All of it."
	clause := `<properties><property name="clause" value="B works."/></properties><failure/>`
	r := judge(c, 1, suite(pass("m::a"), tc("m::b", clause)))
	resolved, outcome, detail := grade.Summary([]assay.CheckResult{r})
	if resolved || outcome != assay.Failed || detail != "B works. (hidden: 1 of 2 tests didn't pass: m::b failed)" {
		t.Errorf("%v %s %q", resolved, outcome, detail)
	}
}

func TestSummary(t *testing.T) {
	passed := assay.CheckResult{Name: "p", Status: assay.CheckPassed}
	failed := assay.CheckResult{Name: "f", Status: assay.CheckFailed, Clause: "It adds.", Detail: "no\nmore"}
	integrity := assay.CheckResult{Name: "i", Status: assay.CheckIntegrity, Detail: "changed"}
	broken := assay.CheckResult{Name: "b", Status: assay.CheckBroken, Detail: "bad glob"}
	tests := []struct {
		in     []assay.CheckResult
		ok     bool
		want   assay.Outcome
		detail string
	}{
		{nil, false, assay.InfraFail, "no check was graded"},
		{[]assay.CheckResult{passed, passed}, true, assay.Passed, ""},
		{[]assay.CheckResult{passed, failed}, false, assay.Failed, "It adds. (f: no)"},
		{[]assay.CheckResult{broken, failed, integrity}, false, assay.Integrity, "i: changed"},
		{[]assay.CheckResult{broken, failed}, false, assay.Failed, "It adds. (f: no)"},
		{[]assay.CheckResult{passed, broken}, false, assay.InfraFail, "b: bad glob"},
		{[]assay.CheckResult{{Name: "x"}}, false, assay.InfraFail, `x: "" is no status of a check`},
	}
	for _, tt := range tests {
		ok, outcome, detail := grade.Summary(tt.in)
		if ok != tt.ok || outcome != tt.want || detail != tt.detail {
			t.Errorf("%v %s %q, want %v %s %q", ok, outcome, detail, tt.ok, tt.want, tt.detail)
		}
	}
}

func TestSteps(t *testing.T) {
	mvn := assay.Check{Name: "java", Kind: assay.CheckTests, Command: []string{"mvn", "-f", "{work}/pom.xml", "test"},
		Report: &assay.Report{Format: "surefire", Path: "{work}/target/surefire-reports"}, TimeoutSec: 9}
	task := assay.Task{
		Environment: assay.Environment{Env: map[string]string{"TZ": "Asia/Tokyo"}},
		Checks: []assay.Check{
			{Name: "f", Kind: assay.CheckNoNewFiles},
			junitCheck("m::a"),
			{Name: "c", Kind: assay.CheckCommand, Command: []string{"make", "{runner}/x"}},
			mvn,
		},
	}
	steps := grade.Steps(task)
	type row struct {
		Name, Dir, Argv string
		Timeout         time.Duration
	}
	got := make([]row, 0, len(steps))
	for _, s := range steps {
		got = append(got, row{s.Check.Name, s.Dir("/w", "/r"), strings.Join(s.Argv("/w", "/v", "/r", "/run"), " "), s.Timeout})
	}
	want := []row{
		{"hidden", "/r", "run /v /r/report.xml", 5 * time.Minute},
		{"c", "/r", "make /run/x", 5 * time.Minute},
		{"java", "/w/target/surefire-reports", "mvn -f /w/pom.xml test", 9 * time.Second},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if env := steps[0].Env; env["TZ"] != "Asia/Tokyo" || env["LANG"] != "C.UTF-8" || env["PYTHONHASHSEED"] != "0" {
		t.Errorf("environment %v", env)
	}
	r := grade.Judge(steps[2], grade.ExitFacts{}, tree.Tree{
		"TEST-A.xml": tree.Text(`<testsuite tests="1"><testcase classname="A" name="x"/></testsuite>`),
		"A.txt":      tree.Text("Tests run: 1"),
		"TEST-B.xml": tree.Text(`<testsuite tests="1"><testcase classname="B" name="x"/></testsuite>`)}, nil)
	if r.Status != assay.CheckPassed || r.Wanted != 2 {
		t.Errorf("surefire: %+v", r)
	}
}

// Ids of programs that print absolute paths don't depend on where the box had
// its files.
func TestIdsLoseTheFolder(t *testing.T) {
	c := junitCheck("src/a.test.js::adds up")
	c.Report.Format = "jest"
	report := `{"numTotalTests":1,"testResults":[{"name":"/box7/work/src/a.test.js","assertionResults":[{"fullName":"adds up","status":"passed"}]}]}`
	s := grade.Steps(assay.Task{Checks: []assay.Check{c}})[0]
	r := grade.Judge(s, grade.ExitFacts{Work: "/box7/work"}, tree.Tree{"report.json": tree.Text(report)}, nil)
	if r.Status != assay.CheckPassed {
		t.Errorf("%+v", r)
	}
}
