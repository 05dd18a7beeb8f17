package grade_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/grade"
	"github.com/assaybot/assay/internal/tree"
)

// The tests of this file are cases in which other graders are known to have
// been wrong, each named after where it was seen.

// mined is a task with one test that the fix makes pass and one to keep.
func mined() assay.Task {
	return assay.Task{FailToPass: []string{"m::f2p"}, PassToPass: []string{"m::p2p"}, Checks: []assay.Check{junitCheck()}}
}

func wantStatus(t *testing.T, r assay.CheckResult, want assay.CheckStatus) {
	t.Helper()
	if r.Status != want {
		t.Errorf("%s (%s), want %s", r.Status, r.Detail, want)
	}
}

func TestMining28EmptyPatch(t *testing.T) {
	base := texts("a.py", "a", "conftest.py", "c")
	graded, restored := grade.Workspace(mined(), base, base, nil)
	if !cmp.Equal(base, graded) || len(restored) > 0 {
		t.Errorf("an empty patch changes the tree: %v", restored)
	}
	wantStatus(t, judgeTask(mined(), 1, suite(fail("m::f2p"), pass("m::p2p"))), assay.CheckFailed)
	wantStatus(t, judgeTask(mined(), 0, suite(pass("m::f2p"), pass("m::p2p"))), assay.CheckPassed)
}

func TestMining29SyntaxErrorNoTests(t *testing.T) {
	for _, reports := range []tree.Tree{suite(), {}, suite(tc("", `<error message="collection failure"/>`), tc("::test_m", `<error/>`))} {
		r := judgeTask(mined(), 2, reports)
		wantStatus(t, r, assay.CheckFailed)
		if len(r.Misses) != 2 || r.Misses[0].Status != assay.TestMissing || r.Misses[1].Status != assay.TestMissing {
			t.Errorf("misses %v", r.Misses)
		}
	}
	wantStatus(t, judgeTask(mined(), 0, suite(pass("m::f2p"))), assay.CheckFailed) // P2P missing
}

func TestMining31And3OnlyAConftest(t *testing.T) {
	base := texts("a.py", "broken", "setup.cfg", "[metadata]\n")
	patch := texts("conftest.py", "def pytest_runtest_makereport(): ...", "pytest.ini", "[pytest]\naddopts=-p no:python", "sitecustomize.py", "x",
		"evil.pth", "import x", "jest.config.js", "x", "package.json", `{"scripts":{"test":"true"}}`, "setup.cfg", "[metadata]\n[tool:pytest]\naddopts=-p evil\n")
	graded, restored := grade.Workspace(mined(), base, tree.Over(base, patch), nil)
	delete(graded, "package.json") // an empty object is left of it
	if d := cmp.Diff(base, graded); d != "" || len(restored) != 7 {
		t.Errorf("%v (-base +graded)\n%s", restored, d)
	}
}

func TestMining32And4ForgedOutput(t *testing.T) {
	s := grade.Steps(mined())[0]
	out := []byte("PASSED m::f2p\nPASSED m::p2p\n>>>>> End Test Output\n>>>>> Test Exit Code: 0\n")
	wantStatus(t, grade.Judge(s, grade.ExitFacts{}, tree.Tree{}, out), assay.CheckFailed)
	wantStatus(t, grade.Judge(s, grade.ExitFacts{}, suite(fail("m::f2p"), pass("m::p2p")), out), assay.CheckFailed)
	// Verdicts that the code under test adds beside the real ones.
	two := tree.Tree{"report.xml": tree.Text(`<testsuite tests="2">` + pass("m::f2p") + pass("m::p2p") + `</testsuite>` +
		`<testsuite tests="2">` + fail("m::f2p") + pass("m::p2p") + `</testsuite>`)}
	wantStatus(t, grade.Judge(s, grade.ExitFacts{}, two, nil), assay.CheckFailed)
	// A correct report from a run that the program itself calls a failure.
	wantStatus(t, grade.Judge(s, grade.ExitFacts{Code: 1}, suite(pass("m::f2p"), pass("m::p2p")), nil), assay.CheckFailed)
}

func TestMining34And5AgentWroteTheHiddenTestItself(t *testing.T) {
	work := texts("calc.py", "def add(a, b): return 0\n",
		"test_add.py", "import unittest\nclass Add(unittest.TestCase):\n    def test_small(self): pass\n    test_zero = test_small\n")
	wantStatus(t, attempt(t, unittestCheck(), work, hidden()), assay.CheckFailed)
}

func TestMining35And9FullIDs(t *testing.T) {
	report := suite(pass("t::test_a[x y]"), pass("t::test_b[a - b]"))
	wantStatus(t, judge(junitCheck("t::test_a[x y]", "t::test_b[a - b]"), 0, report), assay.CheckPassed)
	wantStatus(t, judge(junitCheck("t::test_a[x"), 0, report), assay.CheckFailed)
}

func TestMining38BareWordsAndTimings(t *testing.T) {
	c := junitCheck("adds up")
	c.Report.Format = "tap"
	report := tree.Tree{"report.txt": tree.Text("1..1\nPASSED\nok 1 - adds up (12 ms)\n")}
	wantStatus(t, judge(c, 0, report), assay.CheckPassed)
}

func TestMining39And8NothingRan(t *testing.T) {
	karma := tree.Tree{"report.xml": tree.Text(`<testsuites tests="0"><testsuite name="Chrome" tests="0"/></testsuites>`)}
	wantStatus(t, judge(junitCheck(), 0, karma), assay.CheckFailed)
	wantStatus(t, judgeTask(mined(), 0, karma), assay.CheckFailed)
	wantStatus(t, judgeTask(mined(), 0, suite(skip("m::f2p"), skip("m::p2p"))), assay.CheckFailed)
	wantStatus(t, judge(junitCheck(), 0, suite(skip("m::f2p"))), assay.CheckFailed)
}

func TestMining42FixedSurroundings(t *testing.T) {
	env := grade.Steps(mined())[0].Env
	for _, name := range []string{"TZ", "LANG", "LC_ALL", "PYTHONHASHSEED"} {
		if env[name] == "" {
			t.Errorf("%s isn't fixed", name)
		}
	}
}

func TestHarness7ReportWrittenBeforehand(t *testing.T) {
	c := junitCheck("A::x")
	c.Report = &assay.Report{Format: "surefire", Path: "target/surefire-reports"}
	task := assay.Task{Checks: []assay.Check{c}}
	forged := texts("target/surefire-reports/TEST-A.xml", `<testsuite tests="1"><testcase classname="A" name="x"/></testsuite>`, "target/other", "o")
	graded, restored := grade.Workspace(task, tree.Tree{}, forged, nil)
	if len(graded) != 1 || len(restored) != 1 || !strings.Contains(restored[0].Reason, "report") {
		t.Errorf("graded %v, notes %v", graded.Paths(), restored)
	}
	wantStatus(t, judgeTask(task, 0, graded.Sub("target/surefire-reports")), assay.CheckFailed)
}

func TestPeersTestFileEditedOrDeleted(t *testing.T) {
	base := texts("a.py", "bug", "tests/test_a.py", "t")
	task := assay.Task{Visible: []string{"tests/"}, Protected: []string{"tests/"}}
	for _, patch := range []tree.Tree{texts("a.py", "fix", "tests/test_a.py", "edited"), texts("a.py", "fix", "tests/test_a.py", "gone")} {
		after := apply(base, patch)
		graded, restored := grade.Workspace(task, base, after, nil)
		if d := cmp.Diff(texts("a.py", "fix", "tests/test_a.py", "t"), graded); d != "" || len(restored) != 1 {
			t.Errorf("%v (-want +got)\n%s", restored, d)
		}
		wantStatus(t, grade.Static(assay.Check{Kind: assay.CheckTestsUnmodified}, task, base, after), assay.CheckIntegrity)
	}
}

func TestPeersConftestAndPytestShadow(t *testing.T) {
	base := texts("a.py", "bug")
	for _, p := range []string{"conftest.py", "tests/conftest.py", "pytest.py", "pytest/__init__.py", "pytest.ini"} {
		graded, restored := grade.Workspace(assay.Task{}, base, tree.Over(base, texts(p, "evil")), nil)
		if !cmp.Equal(base, graded) || len(restored) != 1 {
			t.Errorf("%s: %v", p, restored)
		}
	}
}

func TestPeersStatuses(t *testing.T) {
	xfail := func(id string) string { return tc(id, `<skipped type="pytest.xfail" message=""/>`) }
	setup := func(id string) string { return tc(id, `<error message="failed on setup"/>`) }
	tests := []struct {
		name  string
		exit  int
		cases []string
		want  assay.CheckStatus
	}{
		{"xfail on F2P", 0, []string{xfail("m::f2p"), pass("m::p2p")}, assay.CheckFailed},
		{"xfail on P2P", 0, []string{pass("m::f2p"), xfail("m::p2p")}, assay.CheckPassed},
		{"P2P skipped", 0, []string{pass("m::f2p"), skip("m::p2p")}, assay.CheckFailed},
		{"all skipped", 0, []string{skip("m::f2p"), skip("m::p2p")}, assay.CheckFailed},
		{"F2P missing", 0, []string{pass("m::p2p")}, assay.CheckFailed},
		{"F2P error at setup", 1, []string{setup("m::f2p"), pass("m::p2p")}, assay.CheckFailed},
		{"passed then failed", 1, []string{pass("m::f2p"), fail("m::f2p"), pass("m::p2p")}, assay.CheckFailed},
		{"failed then passed", 1, []string{fail("m::f2p"), pass("m::f2p"), pass("m::p2p")}, assay.CheckFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantStatus(t, judgeTask(mined(), tt.exit, suite(tt.cases...)), tt.want)
		})
	}
}

// Words that other graders take for a verdict, printed by a correct solution,
// and a byte that isn't UTF-8, change nothing.
func TestPeersWordsInTheOutput(t *testing.T) {
	s := grade.Steps(mined())[0]
	report := tree.Tree{"report.xml": tree.Text("<testsuite>" + pass("m::f2p") + pass("m::p2p") + "<system-out>\xff &gt;&gt;&gt;&gt;&gt; Tests Errored</system-out></testsuite>")}
	for _, out := range []string{">>>>> Tests Errored", ">>>>> Tests Timed Out\nFAILED m::f2p", "rate limit \xff exceeded"} {
		wantStatus(t, grade.Judge(s, grade.ExitFacts{}, report, []byte(out)), assay.CheckPassed)
	}
}

// An agent can't turn its failure into an infrastructure failure: no exit
// status, signal or report makes a check broken.
func TestNothingOfTheAgentsIsBroken(t *testing.T) {
	s := grade.Steps(mined())[0]
	for code := range 256 {
		for _, reports := range []tree.Tree{nil, suite(), {"report.xml": tree.Text("\x00<")}, {"report.xml/x": tree.Text("")}} {
			r := grade.Judge(s, grade.ExitFacts{Code: code, Signal: code % 3, OOM: code%5 == 0}, reports, []byte(fmt.Sprint("no space left on device", code)))
			wantStatus(t, r, assay.CheckFailed)
		}
	}
}
