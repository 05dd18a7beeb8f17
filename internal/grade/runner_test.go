package grade_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/grade"
	"github.com/assaybot/assay/internal/tree"
)

// python finds a Python of at least 3.9, or skips.
func python(t *testing.T) string {
	t.Helper()
	p, err := findPython()
	if err == nil {
		return p
	}
	if slices.Contains(strings.Split(os.Getenv("ASSAY_REQUIRE"), ","), "python") {
		t.Fatalf("python3 of at least 3.9 is required: %v", err)
	}
	t.Skipf("needs python3 of at least 3.9: %v", err)
	return ""
}

var findPython = sync.OnceValues(func() (string, error) {
	const ask = "import sys; print(sys.executable); sys.exit(sys.version_info < (3, 9))"
	out, err := exec.Command("python3", "-c", ask).Output()
	return strings.TrimSpace(string(out)), err
})

// hidden are the hidden tests of the sample task.
func hidden() tree.Tree {
	return tree.Tree{"test_add.py": tree.Text(`import unittest
import calc

class Add(unittest.TestCase):
    def test_small(self):
        """Adds two numbers.

        More text."""
        self.assertEqual(calc.add(1, 2), 3)

    def test_zero(self):
        self.assertEqual(calc.add(0, 0), 0)

class Canary(unittest.TestCase):
    def test_canary(self):
        self.assertEqual(1, 2)
`)}
}

func unittestCheck() assay.Check {
	return assay.Check{
		Name: "hidden", Kind: assay.CheckTests, Clause: "The sum is right.",
		Command:  []string{"python3", "-I", "{runner}/unittest_junit.py", "--tests", "{verify}", "--source", "{work}", "--report", "{report}"},
		Report:   &assay.Report{Format: "junit"},
		Tests:    []string{"test_add.Add.test_small", "test_add.Add::test_zero"},
		MustFail: []string{"test_add.Canary.test_canary"},
	}
}

// attempt grades a workspace with the runner, as a grader's box would.
func attempt(t *testing.T, c assay.Check, work, verify tree.Tree) assay.CheckResult {
	t.Helper()
	py := python(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, files := range map[string]tree.Tree{"work": work, "verify": verify, "runner": grade.Runners(), "report": {}} {
		if err := files.WriteDir(at(name)); err != nil {
			t.Fatal(err)
		}
	}
	step := grade.Steps(assay.Task{Checks: []assay.Check{c}})[0]
	argv := step.Argv(at("work"), at("verify"), at("report"), at("runner"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, py, argv[1:]...) //nolint:gosec // the test's own command
	cmd.Dir = at("work")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err, out.String())
	}
	reports, err := tree.FromDir(step.Dir(at("work"), at("report")), tree.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	facts := grade.ExitFacts{Code: cmd.ProcessState.ExitCode(), Work: at("work"), Verify: at("verify")}
	r := grade.Judge(step, facts, reports, out.Bytes())
	t.Logf("%s: %s", r.Status, r.Detail)
	return r
}

func TestRunnerOnHonestWork(t *testing.T) {
	r := attempt(t, unittestCheck(), tree.Tree{"calc.py": tree.Text("def add(a, b): return a + b\n")}, hidden())
	if r.Status != assay.CheckPassed || r.Wanted != 2 || r.Passed != 2 {
		t.Errorf("got %+v", r)
	}
	told := unittestCheck()
	told.Command = append(told.Command, "--must-fail", "test_add.Canary::test_canary")
	r = attempt(t, told, tree.Tree{"calc.py": tree.Text("def add(a, b): return a + b\n")}, hidden())
	if r.Status != assay.CheckPassed || *r.Exit != 0 {
		t.Errorf("with --must-fail: %+v", r)
	}
}

func TestRunnerNamesTheMissedClause(t *testing.T) {
	r := attempt(t, unittestCheck(), tree.Tree{"calc.py": tree.Text("def add(a, b): return a - b\n")}, hidden())
	if r.Status != assay.CheckFailed || r.Clause != "Adds two numbers." || len(r.Misses) != 1 {
		t.Fatalf("got %+v", r)
	}
	if m := r.Misses[0]; m.Status != assay.TestFailed || !strings.Contains(m.Message, "AssertionError: -1 != 3") {
		t.Errorf("miss %+v", m)
	}
}

// Each of these is code of an agent that tries to pass without solving.
func TestRunnerAgainstHostileCode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		work map[string]string
		want assay.CheckStatus
	}{
		{"ends the process", map[string]string{"calc.py": "import os\ndef add(a, b): os._exit(0)\n"}, assay.CheckFailed},
		{"ends the process on import", map[string]string{"calc.py": "import os\nos._exit(0)\n"}, assay.CheckFailed},
		{"leaves on import", map[string]string{"calc.py": "import sys\nsys.exit(0)\n"}, assay.CheckFailed},
		{"kills the runner", map[string]string{"calc.py": "import os\nos.kill(os.getppid(), 9)\n"}, assay.CheckIntegrity},
		{"skips", map[string]string{"calc.py": "import unittest\ndef add(a, b): raise unittest.SkipTest('no')\n"}, assay.CheckFailed},
		{"syntax error", map[string]string{"calc.py": "def add(a, b) return\n"}, assay.CheckFailed},
		{"empties an assertion", map[string]string{"calc.py": "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\ndef add(a, b): return 0\n"}, assay.CheckIntegrity},
		{"empties an assertion late", map[string]string{"calc.py": "import unittest\ndef add(a, b):\n    unittest.TestCase.assertEqual = lambda *a, **k: None\n    return 0\n"}, assay.CheckIntegrity},
		{"replaces run", map[string]string{"calc.py": "import unittest\ndef run(self, result=None):\n    result.startTest(self); result.addSuccess(self); result.stopTest(self)\nunittest.TestCase.run = run\n"}, assay.CheckIntegrity},
		{"replaces addFailure", map[string]string{"calc.py": "import unittest, gc\nfor c in unittest.TestResult.__subclasses__():\n    c.addFailure = c.addError = lambda self, test, err: self.addSuccess(test)\ndef add(a, b): return 0\n"}, assay.CheckIntegrity},
		{"replaces a hidden test", map[string]string{"calc.py": "import sys\ndef add(a, b):\n    c = sys.modules['test_add'].Add\n    c.test_zero = c.test_small = lambda self: None\n    return 0\n"}, assay.CheckIntegrity},
		{"replaces isinstance", map[string]string{"calc.py": "import builtins\nbuiltins.issubclass = lambda a, b: False\ndef add(a, b): return 0\n"}, assay.CheckIntegrity},
		{"brings its own test module", map[string]string{"calc.py": "import sys, types, unittest\nclass Add(unittest.TestCase):\n    def test_small(self): pass\n    test_zero = test_small\nsys.modules['test_add'].Add = Add\nsys.modules['test_add'] = types.ModuleType('test_add')\ndef add(a, b): return 0\n"}, assay.CheckFailed},
		{"forges messages", map[string]string{"calc.py": `import os
for fd in range(3, 40):
    try:
        os.write(fd, b'{"kind": "end", "token": "", "count": 1, "changed": []}\n')
    except OSError:
        pass
os._exit(0)
`}, assay.CheckIntegrity},
		{"forges the report", map[string]string{"calc.py": `import os, sys
argv = open("/proc/%d/cmdline" % os.getppid()).read().split("\0")
path = argv[argv.index("--report") + 1]
with open(path, "w") as f:
    f.write('<testsuite tests="2"><testcase classname="test_add.Add" name="test_small"/><testcase classname="test_add.Add" name="test_zero"/></testsuite>')
def add(a, b): return 0
`}, assay.CheckIntegrity},
		{"equals anything", map[string]string{"calc.py": "class Any:\n    def __eq__(self, other): return True\ndef add(a, b): return Any()\n"}, assay.CheckIntegrity},
		{"equals any number", map[string]string{"calc.py": "class Any(int):\n    def __eq__(self, other): return isinstance(other, int)\n    __hash__ = int.__hash__\ndef add(a, b): return Any(7)\n"}, assay.CheckIntegrity},
		{"returns mock.ANY", map[string]string{"calc.py": "from unittest.mock import ANY\ndef add(a, b): return ANY\n"}, assay.CheckIntegrity},
		{"reads the hidden test", map[string]string{"calc.py": "import sys, re\ndef add(a, b):\n    text = open(sys.modules['test_add'].__file__).read()\n    return int(re.search(r'add\\(%d, %d\\), (\\d+)' % (a, b), text)[1])\n"}, assay.CheckIntegrity},
		{"reads it by its loader", map[string]string{"calc.py": "import sys, re\ndef add(a, b):\n    text = sys.modules['test_add'].__loader__.get_source('test_add')\n    return int(re.search(r'add\\(%d, %d\\), (\\d+)' % (a, b), text)[1])\n"}, assay.CheckIntegrity},
		{"reads it from the stack's lines", map[string]string{"calc.py": "import traceback, re\ndef add(a, b): return int(re.search(r', (\\d+)\\)', traceback.extract_stack()[-2].line)[1])\n"}, assay.CheckFailed},
		{"has another program read it", map[string]string{"calc.py": "import subprocess, sys, re\ndef add(a, b):\n    text = subprocess.run(['cat', sys.modules['test_add'].__file__], capture_output=True, text=True).stdout\n    return int(re.search(r'add\\(%d, %d\\), (\\d+)' % (a, b), text)[1])\n"}, assay.CheckIntegrity},
		{"traces the test past its assertion", map[string]string{"calc.py": "import sys\ndef trace(frame, event, arg):\n    if event == 'line': frame.f_lineno = frame.f_code.co_firstlineno\n    return trace\ndef add(a, b):\n    sys.settrace(lambda *a: None)\n    return 0\n"}, assay.CheckIntegrity},
		{"searches memory for the results", map[string]string{"calc.py": "import gc, unittest\nfor o in gc.get_objects():\n    if isinstance(o, unittest.TestResult): o._case = None\ndef add(a, b): return 0\n"}, assay.CheckIntegrity},
		{"patches the encoder of messages", map[string]string{"calc.py": "import json.encoder\nold = json.encoder.JSONEncoder.iterencode\ndef lie(self, o, _one_shot=False):\n    return [''.join(old(self, o, _one_shot)).replace('\"failed\"', '\"passed\"')]\njson.encoder.JSONEncoder.iterencode = lie\ndef add(a, b): return 0\n"}, assay.CheckIntegrity},
		{"shadows the standard library", map[string]string{"calc.py": "def add(a, b): return 0\n",
			"unittest.py": "raise SystemExit(0)\n", "json.py": "raise SystemExit(0)\n", "unittest/__init__.py": "raise SystemExit(0)\n",
			"sitecustomize.py": "import os; os._exit(0)\n"}, assay.CheckFailed},
		{"prints verdicts", map[string]string{"calc.py": "print('PASSED test_add.Add::test_small\\nOK')\ndef add(a, b): return 0\n"}, assay.CheckFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			work := tree.Tree{}
			for p, s := range tt.work {
				if p == "unittest.py" && tt.work["unittest/__init__.py"] != "" {
					continue
				}
				work[p] = tree.Text(s)
			}
			if tt.name == "forges the report" {
				if _, err := os.Stat("/proc/self/cmdline"); err != nil {
					t.Skip("needs /proc")
				}
			}
			r := attempt(t, unittestCheck(), work, hidden())
			if r.Status != tt.want {
				t.Errorf("%s, want %s: %s", r.Status, tt.want, r.Detail)
			}
		})
	}
}

func TestRunnerLayouts(t *testing.T) {
	verify := tree.Tree{
		"unit/__init__.py":      tree.Text(""),
		"unit/helper.py":        tree.Text("VALUE = 1\n"),
		"unit/test_rel.py":      tree.Text("import unittest\nfrom . import helper\nfrom unit.helper import VALUE\nclass R(unittest.TestCase):\n    def test_v(self): self.assertEqual(helper.VALUE, VALUE)\n"),
		"plain/test_x.py":       tree.Text("import unittest, threading, time, os\nclass X(unittest.TestCase):\n    def test_thread(self):\n        threading.Thread(target=time.sleep, args=(600,)).start()\n    def test_fork(self):\n        if os.fork() == 0:\n            os.closerange(0, 3)\n            time.sleep(3)\n            os._exit(0)\n"),
		"test_async.py":         tree.Text("import unittest\nclass A(unittest.IsolatedAsyncioTestCase):\n    async def test_a(self): pass\n    @unittest.expectedFailure\n    def test_x(self): self.fail()\n    def test_sub(self):\n        for i in range(3):\n            with self.subTest(i=i): self.assertNotEqual(i, 1)\n"),
		"not_a_test.py":         tree.Text("raise SystemExit(1)\n"),
		"__pycache__/test_n.py": tree.Text("raise SystemExit(1)\n"),
	}
	c := unittestCheck()
	c.MustFail = []string{"test_async.A.test_sub"}
	c.Tests = []string{"unit.test_rel.R.test_v", "plain.test_x.X.test_thread", "plain.test_x.X.test_fork", "test_async.A.test_a"}
	r := attempt(t, c, tree.Tree{}, verify)
	if r.Status != assay.CheckPassed || r.Passed != 4 {
		t.Errorf("got %+v", r)
	}
	c.Tests = []string{"test_async.A.test_sub", "test_async.A.test_x"}
	c.MustFail = nil
	r = attempt(t, c, tree.Tree{}, verify)
	got := make([]string, 0, len(r.Misses))
	for _, m := range r.Misses {
		first, _, _ := strings.Cut(m.Message, "\n")
		got = append(got, string(m.Status)+" "+first)
	}
	if d := cmp.Diff([]string{"failed (i=1): AssertionError: 1 == 1", "xfail AssertionError: None"}, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestRunnerLeavesHonestCodeAlone: what looks like an attack and is none.
func TestRunnerLeavesHonestCodeAlone(t *testing.T) {
	verify := tree.Tree{
		"data.txt": tree.Text("7\n"),
		"test_odd.py": tree.Text(`import dataclasses, os, unittest
from unittest import mock
import calc

HERE = os.path.dirname(__file__)
calls = 0
NAMES = []

@dataclasses.dataclass
class Pair:
    left: int
    right: int

class Odd(unittest.TestCase):
    server = None

    @classmethod
    def setUpClass(cls):
        cls.server = object()

    def test_equality(self):
        self.assertEqual(calc.Vector(1, 2), (1, 2))
        self.assertEqual({"v": [calc.Vector(1, 2)]}, {"v": [(1, 2)]})
        self.assertIn(3, calc.Range(1, 5))
        self.assertEqual({"a": mock.ANY, "b": 1}, {"a": calc.Vector(0, 0), "b": 1})
        self.assertEqual(Pair(1, 2), Pair(1, 2))
        with self.assertRaises(AssertionError):
            self.assertEqual(calc.Vector(1, 2), (1, 3))

    def test_globals(self):
        global calls
        calls += 1
        NAMES.append("x")
        self.assertEqual(calls, len(NAMES))

    def test_fixture_and_warning(self):
        with self.assertWarns(DeprecationWarning):
            self.assertEqual(calc.number(os.path.join(HERE, "data.txt")), 7)

    def test_logs_where_it_is(self):
        with self.assertLogs("calc"):
            self.assertEqual(calc.caller(), "test_logs_where_it_is")

    def test_child(self):
        self.assertEqual(calc.run(), "3")
`),
	}
	work := tree.Tree{"calc.py": tree.Text(`import collections, inspect, logging, subprocess, sys, traceback, warnings

class Vector(collections.namedtuple("Vector", "x y")):
    def __eq__(self, other): return tuple(self) == tuple(other)

class Range:
    def __init__(self, lo, hi): self.lo, self.hi = lo, hi
    def __contains__(self, x): return self.lo <= x < self.hi

def number(path):
    warnings.warn("old", DeprecationWarning, stacklevel=2)
    with open(path) as f: return int(f.read())

def caller():
    logging.getLogger("calc").warning("said", stack_info=True)
    traceback.format_stack()
    return inspect.stack()[1].function

def run():
    p = subprocess.Popen([sys.executable, "-c", "print(3)"], stdout=subprocess.PIPE, text=True)
    out, _ = p.communicate()
    p2 = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    p2.kill()
    p2.wait()
    return out.strip()
`)}
	c := unittestCheck()
	c.Tests, c.MustFail = nil, nil
	r := attempt(t, c, work, verify)
	if r.Status != assay.CheckPassed || r.Wanted != 5 {
		t.Errorf("got %+v", r)
	}
}

func TestRunnerWithoutTestsFails(t *testing.T) {
	c := unittestCheck()
	c.Tests, c.MustFail = nil, nil
	r := attempt(t, c, tree.Tree{"calc.py": tree.Text("")}, tree.Tree{"readme.txt": tree.Text("")})
	if r.Status != assay.CheckFailed || !strings.Contains(r.Detail, "no test ran") {
		t.Errorf("got %+v", r)
	}
}
