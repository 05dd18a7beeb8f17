package tasks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/grade"
	"github.com/assaybot/assay/internal/suite"
	"github.com/assaybot/assay/internal/testlog"
	"github.com/assaybot/assay/internal/tree"
	"github.com/assaybot/assay/tasks"
	"github.com/google/go-cmp/cmp"
)

const hiddenTests = "hidden-tests"

// open is the suite on disk, which is that of the binary and wrong/ besides.
func open(t *testing.T) *suite.Suite {
	t.Helper()
	s, err := suite.Open(os.DirFS("."), "tasks", suite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Problems().Err(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSuiteIsEmbedded(t *testing.T) {
	built, err := suite.Open(tasks.FS(), "tasks", suite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := built.Problems().Err(); err != nil {
		t.Fatal(err)
	}
	if disk := open(t); built.Digest() != disk.Digest() {
		t.Error("the suite in the binary isn't the one on disk; is there a file that embed.go leaves out, or a __pycache__?")
	}
}

func TestTiers(t *testing.T) {
	got := map[string][]string{}
	for _, e := range open(t).Entries {
		got[e.Task.Tier] = append(got[e.Task.Tier], e.Task.ID)
	}
	want := map[string][]string{
		"core": {"add-json-flag", "fix-pagination", "merge-intervals", "rename-across-modules", "scope-creep-magnet"},
		"hard": {"config-layers", "csv-parser", "expr-eval", "rate-limiter"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("tiers (-want +got):\n%s", d)
	}
}

// TestDiscrimination holds every task against its base, its reference and its
// wrong solutions, with the checks and the grader of a real run.
func TestDiscrimination(t *testing.T) {
	python := needPython(t)
	b := &bench{python: python, turn: make(chan struct{}, 2), runner: t.TempDir()}
	if err := grade.Runners().WriteDir(b.runner); err != nil {
		t.Fatal(err)
	}
	var tests, wrongs atomic.Int64
	t.Run("tasks", func(t *testing.T) {
		for _, e := range open(t).Entries {
			t.Run(e.Task.ID, func(t *testing.T) {
				t.Parallel()
				c := newCase(t, b, e)
				tests.Add(int64(len(c.hidden().Tests)))
				wrongs.Add(int64(len(c.wrong)))
				c.all(t)
			})
		}
	})
	t.Logf("%d hidden tests, %d wrong solutions", tests.Load(), wrongs.Load())
}

func needPython(t *testing.T) string {
	t.Helper()
	// The program itself: what PATH has may be a wrapper that takes its time.
	out, err := exec.CommandContext(t.Context(), "python3", "-I", "-c", "import sys; print(sys.executable)").Output()
	if err == nil {
		return strings.TrimSpace(string(out))
	}
	if slices.Contains(strings.Split(os.Getenv("ASSAY_REQUIRE"), ","), "python") {
		t.Fatal("ASSAY_REQUIRE names python, but python3 doesn't run: ", err)
	}
	t.Skip("python3 doesn't run: ", err)
	return ""
}

// bench runs commands, two at a time.
type bench struct {
	python, runner string
	turn           chan struct{}
}

// taskCase is one task with all of its folders read.
type taskCase struct {
	*bench
	task                 assay.Task
	base, verify, oracle tree.Tree
	wrong                map[string]tree.Tree
	clauses              map[string]string
}

func newCase(t *testing.T, b *bench, e suite.Entry) *taskCase {
	t.Helper()
	c := &taskCase{bench: b, task: e.Task, wrong: map[string]tree.Tree{}}
	var errs [3]error
	c.base, errs[0] = e.Workspace()
	c.verify, errs[1] = e.Verify()
	c.oracle, errs[2] = e.Solution()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(e.Dir, "wrong")
	data, err := os.ReadFile(filepath.Join(dir, "clauses.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &c.clauses); err != nil {
		t.Fatal(err)
	}
	all, err := tree.FromDir(dir, tree.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all.Paths() {
		if name, _, below := strings.Cut(p, "/"); below && c.wrong[name] == nil {
			c.wrong[name] = all.Sub(name)
		}
	}
	return c
}

func (c *taskCase) hidden() assay.Check {
	i := slices.IndexFunc(c.task.Checks, func(k assay.Check) bool { return k.Name == hiddenTests })
	return c.task.Checks[i]
}

func (c *taskCase) all(t *testing.T) {
	if least := map[string]int{"core": 2, "hard": 3}[c.task.Tier]; len(c.wrong) < least {
		t.Errorf("%d wrong solutions, want at least %d", len(c.wrong), least)
	}
	if len(c.clauses) != len(c.wrong) {
		t.Errorf("wrong/clauses.json has %d entries for %d wrong solutions", len(c.clauses), len(c.wrong))
	}
	t.Run("base", func(t *testing.T) { t.Parallel(); c.rejected(t, nil, "") })
	t.Run("solution", func(t *testing.T) { t.Parallel(); c.accepted(t) })
	for name, top := range c.wrong {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.clauses[name] == "" {
				t.Fatal("wrong/clauses.json doesn't say which clause it breaks")
			}
			c.rejected(t, top, c.clauses[name])
		})
	}
}

// accepted proves that the reference passes every check, and that the check
// of hidden tests asks for each of them.
func (c *taskCase) accepted(t *testing.T) {
	after := tree.Over(c.base, c.oracle)
	for _, k := range c.task.Checks {
		if !grade.IsStatic(k.Kind) {
			continue
		}
		if r := grade.Static(k, c.task, c.base, after); r.Status != assay.CheckPassed {
			t.Errorf("check %s: %s: %s", k.Name, r.Status, r.Detail)
		}
	}
	for _, s := range grade.Steps(c.task) {
		r, ran := c.step(t, s, after)
		if r.Status != assay.CheckPassed {
			t.Errorf("check %s: %s: %s", r.Name, r.Status, r.Detail)
		}
		want := slices.Sorted(slices.Values(slices.Concat(s.Check.Tests, s.Check.MustFail)))
		if d := cmp.Diff(want, ran); d != "" {
			t.Errorf("check %s asks for other tests than there are (-task.json +ran):\n%s", r.Name, d)
		}
	}
}

// rejected proves that the hidden tests alone fail with top laid over the
// base, and that a clause which begins as told is among the misses.
func (c *taskCase) rejected(t *testing.T, top tree.Tree, clause string) {
	for _, s := range grade.Steps(c.task) {
		if s.Check.Name != hiddenTests {
			continue
		}
		r, _ := c.step(t, s, tree.Over(c.base, top))
		if r.Status != assay.CheckFailed || r.Passed >= r.Wanted || r.Clause == "" {
			t.Errorf("%s, %d of %d passed, clause %q: %s", r.Status, r.Passed, r.Wanted, r.Clause, r.Detail)
		}
		var told []string
		for _, m := range r.Misses {
			told = append(told, m.Clause)
		}
		if !slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, clause) }) {
			t.Errorf("no miss names the clause %q; they name\n%s", clause, strings.Join(told, "\n"))
		}
	}
}

// step runs one step in fresh folders and judges it; ran are the ids of its
// report in byte order.
func (c *taskCase) step(t *testing.T, s grade.Step, after tree.Tree) (r assay.CheckResult, ran []string) {
	t.Helper()
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	root := t.TempDir()
	work, verify, report := filepath.Join(root, "work"), filepath.Join(root, "verify"), filepath.Join(root, "report")
	if err := errors.Join(after.WriteDir(work), c.verify.WriteDir(verify), os.Mkdir(report, 0o755)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), s.Timeout)
	defer stop()
	argv := s.Argv(work, verify, report, c.runner)
	cmd := exec.CommandContext(ctx, c.python, argv[1:]...)
	cmd.Dir, cmd.WaitDelay = work, time.Second
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	reports, err := tree.FromDir(s.Dir(work, report), tree.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	facts := grade.ExitFacts{Code: cmd.ProcessState.ExitCode(), TimedOut: ctx.Err() != nil, Work: work, Verify: verify}
	return grade.Judge(s, facts, reports, out), idsOf(t, s, reports)
}

// idsOf lists the tests of a step's report in byte order.
func idsOf(t *testing.T, s grade.Step, reports tree.Tree) []string {
	t.Helper()
	log, err := testlog.Parse(s.Check.Report.Format, bytes.NewReader(reports[s.Report].Data))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range log.Tests {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}
