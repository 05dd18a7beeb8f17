package grade

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/testlog"
)

// Step is one check whose command is to run alone in the grader's box.
type Step struct {
	Check assay.Check
	// Timeout is how long the command may take.
	Timeout time.Duration
	// Report is the name of the report in the folder that Dir tells: a
	// file, or a folder when it ends in "/"; "." is the whole folder. It is
	// "" for a check without a report.
	Report string
	// Env is the command's environment: fixed clock zone, language, hash
	// seed, and what the task states.
	Env map[string]string

	// Words stand for {tests}: the files or packages of a shard. Part counts
	// the shards of a check from 0.
	Words []string
	Part  int

	wanted []string // must have passed
	kept   []string // must have passed, or failed as expected (xfail)
	all    bool     // every test of the report is wanted
	dir    string   // folder of the report below the workspace; "" is {report}
}

// Steps are the checks of a task that need a command, in its order. The
// checks of the kinds of IsStatic are not among them.
func Steps(task assay.Task) []Step {
	out := make([]Step, 0, len(task.Checks))
	for _, c := range task.Checks {
		if IsStatic(c.Kind) {
			continue
		}
		s := newStep(task, c)
		if len(c.Shards) == 0 {
			out = append(out, s)
			continue
		}
		out = append(out, s.parts(task)...)
	}
	return out
}

// parts are the shards of a step. Without the scope "all", only the first
// runs: the change's own tests. What validation dropped is left out.
func (s Step) parts(task assay.Task) []Step {
	shards := s.Check.Shards
	if task.Scope != assay.ScopeAll {
		shards = shards[:1]
	}
	var dropped map[string]string
	if task.Validation != nil {
		dropped = task.Validation.Dropped
	}
	out := make([]Step, 0, len(shards))
	for i, words := range shards {
		words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { _, is := dropped[w]; return is })
		if len(words) > 0 {
			part := s.With(words)
			part.Part = i
			if limit := time.Duration(s.Check.FileSec*len(words)) * time.Second; limit > 0 && (i > 0 || limit > s.Timeout) {
				part.Timeout = limit
			}
			out = append(out, part)
		}
	}
	return out
}

// With is the step for other words in place of {tests}.
func (s Step) With(words []string) Step {
	s.Words = words
	return s
}

// Name tells the steps of a task apart.
func (s Step) Name() string {
	if s.Part == 0 {
		return s.Check.Name
	}
	return fmt.Sprintf("%s-%d", s.Check.Name, s.Part+1)
}

func newStep(task assay.Task, c assay.Check) Step {
	sec := c.TimeoutSec
	if sec == 0 {
		sec = task.Limits.Or(assay.DefaultLimits()).CheckSec
	}
	s := Step{Check: c, Timeout: time.Duration(sec) * time.Second, Env: environment(task)}
	if c.Kind != assay.CheckTests {
		return s
	}
	s.wanted = c.Tests
	if len(c.Tests) == 0 {
		s.wanted, s.kept = task.FailToPass, task.PassToPass
	}
	s.all = len(s.wanted)+len(s.kept) == 0
	if c.Report != nil {
		s.dir, s.Report = place(*c.Report)
	}
	return s
}

// environment makes runs repeatable: tests that depend on the zone, the
// language or the order of a hash would vary.
func environment(task assay.Task) map[string]string {
	env := map[string]string{
		"TZ": "UTC", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "CI": "true",
		"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1",
	}
	maps.Copy(env, task.Environment.Env)
	return env
}

// place says where a report lies: in dir below the workspace, or, when dir is
// "", in the report folder.
func place(r assay.Report) (dir, name string) {
	p := r.Path
	if rest, ok := strings.CutPrefix(p, "{report}"); ok || p == "" {
		if rest = strings.TrimPrefix(rest, "/"); rest != "" {
			return "", rest
		}
		return "", madeUp(r.Format)
	}
	p = path.Clean(strings.TrimPrefix(strings.TrimPrefix(p, "{work}"), "/"))
	if path.Ext(p) == "" || r.Format == testlog.Surefire {
		return p, "."
	}
	return path.Dir(p), path.Base(p)
}

// madeUp is the name of a report whose path the task leaves open.
func madeUp(format string) string {
	switch format {
	case testlog.Surefire:
		return "reports/"
	case testlog.JUnit:
		return "report.xml"
	case testlog.Jest, testlog.Mocha, testlog.GoTest:
		return "report.json"
	}
	return "report.txt"
}

// Argv is the command with its placeholders filled in. The arguments are
// absolute paths as the box sees them; report is the folder of reports.
func (s Step) Argv(work, verify, report, runner string) []string {
	at := report
	if s.Report != "" && s.dir == "" {
		at = path.Join(report, s.Report)
	}
	r := strings.NewReplacer("{work}", work, "{verify}", verify, "{report}", at, "{runner}", runner, "{tests}", shellWords(s.Words))
	out := make([]string, 0, len(s.Check.Command)+len(s.Words))
	for _, a := range s.Check.Command {
		if a == "{tests}" {
			out = append(out, s.Words...)
			continue
		}
		out = append(out, r.Replace(a))
	}
	return out
}

// shellWords are words as /bin/sh takes them.
func shellWords(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(out, " ")
}

// Dir is the folder to fetch after the command, for the tree that Judge
// takes: the report folder, or a folder of the workspace where the check says
// so (Workspace has emptied it of what the agent left there).
func (s Step) Dir(work, report string) string {
	if s.dir == "" {
		return report
	}
	return path.Join(work, s.dir)
}

// reportPaths are globs of the workspace's paths that the steps' reports use.
func reportPaths(task assay.Task) []string {
	var out []string
	for _, s := range Steps(task) {
		switch {
		case s.dir == "":
		case s.Report == ".":
			out = append(out, s.dir+"/**")
		default:
			out = append(out, path.Join(s.dir, s.Report))
		}
	}
	return out
}
