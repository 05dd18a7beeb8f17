package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/ledger"
	fake "github.com/assaybot/assay/internal/testkit/github"
)

// steps runs the scripts of the shipped workflows one by one, as a runner
// would: each job has a temporary folder of its own, artifacts are carried by
// hand, and a GitHub counts who calls it.
type steps struct {
	*person
	hub  *fake.Server
	repo *fake.Repo
}

func newSteps(t *testing.T) *steps {
	t.Helper()
	hub := fake.New(t)
	p := newPerson(t,
		"GITHUB_ACTIONS=true", "GITHUB_API_URL="+hub.URL+"/api/v3", "GITHUB_GRAPHQL_URL="+hub.URL+"/api/graphql", "GITHUB_SERVER_URL=https://github.example",
		"GITHUB_REPOSITORY=acme/shop", "GITHUB_SHA="+strings.Repeat("e", 40), "GITHUB_RUN_ID=42")
	p.env = append(p.env, "PATH="+filepath.Dir(release(t))+":"+os.Getenv("PATH"))
	if err := errors.Join(os.MkdirAll(p.path("repo"), 0o755), os.Rename(p.path("suite"), p.path("repo/tasks"))); err != nil {
		t.Fatal(err)
	}
	p.write("repo/assay.yml", "tasks: tasks\nagents: [oracle, nop]\n")
	return &steps{person: p, hub: hub, repo: hub.Add("acme/shop")}
}

// script is a step of a workflow's job that runs one, with the names of what
// it gets by its environment.
type script struct {
	Run string            `yaml:"run"`
	Env map[string]string `yaml:"env"`
}

// scriptOf is a step of a job in a workflow, found by a word of its script.
func scriptOf(t testing.TB, workflow, job, word string) script {
	t.Helper()
	var doc struct {
		Jobs map[string]struct {
			Steps []script `yaml:"steps"`
		} `yaml:"jobs"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "../../.github/workflows/"+workflow)), &doc); err != nil {
		t.Fatal(err)
	}
	for _, s := range doc.Jobs[job].Steps {
		if strings.Contains(s.Run, word) {
			return s
		}
	}
	t.Fatalf("the job %s of %s has no script with %q", job, workflow, word)
	return script{}
}

// does runs a script in the repository with a job's folder as TEMP, and
// returns its log and what it set. What isn't given by env is an input that
// nobody set.
func (s *steps) does(step script, job string, env ...string) (log, outputs, summary string) {
	s.t.Helper()
	dir := s.path(job)
	cmd := exec.CommandContext(s.t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
	cmd.Dir = s.path("repo")
	for name := range step.Env {
		cmd.Env = append(cmd.Env, name+"=")
	}
	cmd.Env = append(append(cmd.Env, s.env...), "TEMP="+dir, "GITHUB_OUTPUT="+dir+"/output", "GITHUB_STEP_SUMMARY="+dir+"/summary.md",
		"GITHUB_EVENT_PATH="+s.path("event.json"))
	cmd.Env = append(cmd.Env, env...)
	s.write(job+"/output", "")
	s.write(job+"/summary.md", "")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", job, err, out)
	}
	return string(out), read(s.t, dir+"/output"), read(s.t, dir+"/summary.md")
}

// carry takes a file from one job to another.
func (s *steps) carry(from, to string) {
	s.t.Helper()
	s.write(to, read(s.t, s.path(from)))
}

// quietHub checks that nobody called GitHub so far.
func (s *steps) quietHub(who string) {
	s.t.Helper()
	if n := s.hub.Requests(); len(n) > 0 {
		s.t.Errorf("%s called GitHub %d times, first %s %s", who, len(n), n[0].Method, n[0].Path)
	}
}

// fill writes the results of a shard as a machine would have left them, from
// one result that really happened.
func (s *steps) fill(artifact string, run ledger.Run, like assay.Result, trials []assay.Trial) {
	s.t.Helper()
	dir := s.t.TempDir()
	l, err := ledger.Open(dir, "test")
	if err != nil {
		s.t.Fatal(err)
	}
	err = errors.Join(l.SaveRun(run), l.SavePlan(assay.Plan{Trials: trials}))
	for _, tr := range trials {
		a, beginErr := l.Begin(tr)
		if err = errors.Join(err, beginErr); err != nil {
			s.t.Fatal(err)
		}
		r := like
		r.Trial, r.Attempt = tr, a.Number()
		r.Resolved, r.Score, r.Outcome = tr.Agent.Name == "oracle", 0, assay.Failed
		if r.Resolved {
			r.Outcome, r.Score = assay.Passed, 1
		}
		err = errors.Join(err, a.Finish(r))
	}
	if err := errors.Join(err, l.Close(), os.MkdirAll(s.path(artifact), 0o755), pack(dir, s.path(artifact+"/results.tgz"))); err != nil {
		s.t.Fatal(err)
	}
}

// pack makes a .tgz of a folder.
func pack(dir, name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	return errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), z.Close(), f.Close())
}

// The scripts of the jobs of a run in 240 shards, and its pull request.
func (s *steps) planned() (plan assay.Plan, meta ledger.Run, real assay.Result) {
	s.t.Helper()
	s.write("repo/assay.yml", "tasks: tasks\nagents: [oracle, nop]\nrepeats: 75\n")
	_, outputs, summary := s.does(scriptOf(s.t, "shards.yml", "plan", "assay plan"), "plan", "CONFIG=assay.yml", "VARIANTS_DIR=variants",
		"SANDBOX=local", "MINUTES=0.01", "MAX_SHARDS=240", "KEY=assay")
	says(s.t, "the plan's outputs", outputs, "count<<", "\n240\n", `"shard":"7/240"`)
	says(s.t, "the plan's summary", summary, "300 to run in 240 shards")
	// Row 9, and the limit of a job's outputs, which is counted in UTF-16.
	if len(summary) > 100<<10 || 2*len(outputs) > 1<<20 {
		s.t.Errorf("the summary has %d bytes, the outputs %d", len(summary), len(outputs))
	}
	s.quietHub("the plan")
	s.carry("plan/planned.tgz", "merge/plan/planned.tgz")
	s.carry("plan/planned.tgz", "run/plan/planned.tgz")
	s.does(scriptOf(s.t, "shards.yml", "run", "assay run"), "run", "VARIANTS_DIR=variants", "SHARD=7/240", "BUDGET=0")
	s.quietHub("a shard")

	one, err := ledger.OpenRead(s.path("run/results"))
	s.ok(err)
	meta, err = one.Run()
	s.ok(err)
	results, problems := one.Results()
	all, err := ledger.OpenRead(s.path("plan/planned"))
	s.ok(err)
	plan, err = all.Plan()
	if err != nil || len(problems) > 0 || len(results) == 0 || len(plan.Trials) != 300 {
		s.t.Fatal(err, problems, len(results), len(plan.Trials))
	}
	return plan, meta, results[0]
}

func (s *steps) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// report merges what came back and posts it; it returns the one check run.
func (s *steps) report(number int, title, conclusion string) (check fake.CheckRun, log string) {
	s.t.Helper()
	log, outputs, _ := s.does(scriptOf(s.t, "shards.yml", "merge", "assay merge"), "merge", "KEY=assay")
	says(s.t, "the merge's outputs", outputs, "results=assay-results")
	// Row 47: the table stands between its brackets, in the same stream.
	_, after, _ := strings.Cut(log, "oracle")
	if before := strings.LastIndex(log[:len(log)-len(after)], "::stop-commands::assay_"); before < 0 || !strings.Contains(after, "\n::assay_") {
		s.t.Errorf("the table isn't bracketed:\n%s", log)
	}
	s.quietHub("the merge")
	s.carry("merge/results.tgz", "report/shards/results.tgz")
	// With a comment, as the report of a pull request.
	step := scriptOf(s.t, "evaluate.yml", "report", "assay publish")
	step.Run = strings.Replace(step.Run, " --no-comment", "", 1)
	s.does(step, "report", "GITHUB_TOKEN="+fake.LongToken, "KEY=assay", "FAIL_ON=resolve-rate<0.05", "ARTIFACT_URL=https://example.com/a")
	if rest, graphql := s.hub.Count(); rest == 0 || rest+graphql > 15 {
		s.t.Errorf("%d calls of REST, %d of GraphQL", rest, graphql)
	}
	s.hub.Forget()
	s.hub.Edit(func() {
		comments := s.repo.Pull(number).Comments
		if len(s.repo.Checks) != 1 || len(comments) != 1 {
			s.t.Fatalf("%d check runs, %d comments", len(s.repo.Checks), len(comments))
		}
		check = *s.repo.Checks[0]
		says(s.t, "the comment", comments[0].Body, title)
	})
	if check.Conclusion != conclusion {
		s.t.Errorf("%s: %s", check.Conclusion, check.Summary)
	}
	return check, log
}

// As many shards as there can be: plan, runs and merge call nobody, the report
// at most 15 times. What doesn't come back is counted as missing and named
// (rows 29, 30 and 42), and a second report edits the first.
func TestRow29And30And42ManyShards(t *testing.T) {
	s := newSteps(t)
	number := s.repo.AddPull(fake.Pull{Thread: fake.Thread{Author: fake.User("dana")}, HeadSHA: strings.Repeat("d", 40)}).Number
	s.write("event.json", fmt.Sprintf(`{"pull_request": {"number": %d, "head": {"sha": %q}}}`, number, strings.Repeat("d", 40)))
	p, meta, like := s.planned()
	for i := range 240 {
		trials := p.Trials[i : i+1]
		if i < 60 {
			trials = []assay.Trial{p.Trials[i], p.Trials[240+i]}
		}
		s.fill(fmt.Sprintf("merge/shards/assay-shard-%03d-of-240", i+1), meta, like, trials)
	}
	// One didn't come back, and one came back broken.
	away, broken := "merge/shards/assay-shard-239-of-240", "merge/shards/assay-shard-240-of-240/results.tgz"
	s.ok(os.Rename(s.path(away), s.path("away")))
	whole := read(t, s.path(broken))
	s.write(broken, "not an archive")
	first, log := s.report(number, "298/300", "neutral")
	says(t, "the merge's log", log, "::warning title=assay::the artifact assay-shard-240-of-240/results.tgz can't be unpacked")

	s.write(broken, whole)
	s.ok(os.Rename(s.path("away"), s.path(away)))
	if second, _ := s.report(number, "150/300", "success"); second.ID != first.ID {
		t.Errorf("check run %d, then %d", first.ID, second.ID)
	}
}

// Row 28: where everything has an answer no shard is asked for, and the report
// is green and says so.
func TestRow28NothingToDoIsGreen(t *testing.T) {
	s := newSteps(t)
	s.write("event.json", "{}")
	plan := scriptOf(t, "shards.yml", "plan", "assay plan")
	inputs := []string{"CONFIG=assay.yml", "VARIANTS_DIR=variants", "SANDBOX=local", "MINUTES=60", "MAX_SHARDS=240", "KEY=assay"}
	s.does(plan, "plan", inputs...)
	s.carry("plan/planned.tgz", "run/plan/planned.tgz")
	s.does(scriptOf(t, "shards.yml", "run", "assay run"), "run", "VARIANTS_DIR=variants", "SHARD=1/1", "BUDGET=0")

	_, outputs, summary := s.does(plan, "again", append(inputs, "HISTORY="+s.path("run/results"))...)
	says(t, "the plan's outputs", outputs, "count<<", "\n0\n")
	says(t, "the plan's summary", summary, "Nothing to do")
	s.carry("again/planned.tgz", "merge/plan/planned.tgz")
	score := func() (id int64, title string) {
		t.Helper()
		s.does(scriptOf(t, "shards.yml", "merge", "assay merge"), "merge", "KEY=assay")
		s.carry("merge/results.tgz", "report/shards/results.tgz")
		_, _, summary = s.does(scriptOf(t, "evaluate.yml", "report", "assay publish"), "report", "COUNT=0", "GITHUB_TOKEN="+fake.LongToken,
			"KEY=assay", "FAIL_ON=regression")
		s.hub.Edit(func() {
			if len(s.repo.Checks) != 1 || s.repo.Checks[0].Conclusion == "failure" {
				t.Fatalf("check runs: %+v", s.repo.Checks)
			}
			id, title = s.repo.Checks[0].ID, s.repo.Checks[0].Title
		})
		return id, title
	}
	id, title := score()
	says(t, "the title", title, "2/4 resolved")

	// A history that has no folders, only answers: the score that stands stays.
	s.hub.Forget()
	for _, dir := range []string{"merge", "report"} {
		s.ok(os.RemoveAll(s.path(dir)))
	}
	s.carry("plan/planned.tgz", "merge/plan/planned.tgz")
	if again, still := score(); again != id || still != title {
		t.Errorf("check run %d %q, then %d %q", id, title, again, still)
	}
	says(t, "the summary", summary, "Nothing to do")
	s.quietHub("a report of nothing")
}
