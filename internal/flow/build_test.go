package flow_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
	"github.com/assaybot/assay/internal/flow"
	"github.com/assaybot/assay/internal/local"
	"github.com/assaybot/assay/internal/suite"
	"github.com/assaybot/assay/internal/testkit/repo"
)

// built is a folder of candidates and tasks.
type built struct {
	t    *testing.T
	repo *repo.Repo
	file string
	dir  string
}

func builtRepo(t *testing.T) built {
	t.Helper()
	r := repo.New(t.Context(), filepath.Join(t.TempDir(), "r"), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	r.Commit(dana, "Start", repo.Files{
		"setup.py": repo.F(""), "a.py": repo.F("0\n"), "old.py": repo.F("0\n"),
		"test_a.py": repo.F("import unittest\n"), "test_old.py": repo.F("import unittest\n"),
	})
	r.Commit(dana, "Fix (#2)\n\nA text.", repo.Files{
		"a.py": repo.F("2\n"), "old.py": nil, "new.py": repo.F("2\n"),
		"test_a.py": repo.F("import unittest\n# 2\n"), "test_old.py": nil,
	})
	r.Commit(dana, "More (#3)", repo.Files{"a.py": repo.F("3\n"), "test_a.py": repo.F("import unittest\n# 3\n")})
	r.Commit(dana, "Elsewhere (#4)", repo.Files{"x.rb": repo.F("3\n"), "spec/x_spec.rb": repo.F("3\n")})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	q := request(t, r)
	mustMine(t, q)
	return built{t, r, q.Out, filepath.Join(t.TempDir(), "tasks")}
}

func (b built) build(change func(*flow.BuildRequest)) (flow.BuildSummary, error) {
	b.t.Helper()
	req := flow.BuildRequest{Candidates: b.file, Tasks: b.dir}
	if change != nil {
		change(&req)
	}
	return miner().Build(b.t.Context(), req, func(string) {})
}

func (b built) must(change func(*flow.BuildRequest)) flow.BuildSummary {
	b.t.Helper()
	sum, err := b.build(change)
	if err != nil {
		b.t.Fatal(err)
	}
	return sum
}

func (b built) entry(id string) suite.Entry {
	b.t.Helper()
	s, err := suite.Open(os.DirFS(b.dir), b.dir, suite.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	found, problems := s.Select([]string{id}, nil)
	if len(problems) > 0 || len(found[0].Problems) > 0 {
		b.t.Fatal(problems, found[0].Problems)
	}
	return found[0]
}

func (b built) candidate(id string) assay.Candidate {
	b.t.Helper()
	all, err := candidates.At(b.file).Load()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range all {
		if c.ID == id {
			return c
		}
	}
	b.t.Fatalf("there is no %s", id)
	return assay.Candidate{}
}

func TestBuildPartsAChange(t *testing.T) {
	b := builtRepo(t)
	sum := b.must(nil)
	if d := cmp.Diff([]string{"pull-2", "pull-3"}, sum.Built); d != "" || sum.Rejected[assay.ReasonNoEnvironment] != 1 {
		t.Errorf("%s %+v", d, sum)
	}
	e := b.entry("pull-2")
	verify, err := e.Verify()
	if err != nil {
		t.Fatal(err)
	}
	solution, err := e.Solution()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"workspace/.assay-deleted", "workspace/test_a.py"}, verify.Paths()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{".assay-deleted", "a.py", "new.py"}, solution.Paths()); d != "" {
		t.Error(d)
	}
	if got := string(verify["workspace/.assay-deleted"].Data) + string(solution[".assay-deleted"].Data); got != "test_old.py\nold.py\n" {
		t.Errorf("deleted: %q", got)
	}
	if !strings.Contains(e.Prompt, "A text.") || e.Task.Base.Commit != b.repo.Git("rev-parse", "HEAD~3") {
		t.Errorf("%+v %q", e.Task.Base, e.Prompt)
	}
	if d := cmp.Diff([]string{"python3"}, e.Task.Environment.Requires); d != "" {
		t.Error(d)
	}
	if c := b.candidate("pull-2"); c.Status != assay.StatusBuilt || c.Task != "pull-2" {
		t.Errorf("%+v", c)
	}
	if c := b.candidate("pull-4"); c.Status != assay.StatusRejected || c.Reason != assay.ReasonNoEnvironment || c.Detail == "" {
		t.Errorf("%+v", c)
	}
	if env := b.entry("pull-3").Task.Environment.Shared; env != e.Task.Environment.Shared {
		t.Error("the tasks share no image")
	}
}

// Built again, a task keeps what proved it; one that comes out otherwise has
// to be proven again.
func TestBuildAgainKeepsProofs(t *testing.T) {
	b := builtRepo(t)
	b.must(nil)
	prove := func(task *assay.Task) {
		task.FailToPass, task.Strength = []string{"a"}, &assay.Strength{Hunks: 1, Noticed: 1, Share: 1}
		task.Validation = &assay.Validation{Status: "valid", Digest: "d"}
		task.Limits.CheckSec, task.Environment.ImageDigest = 60, "sha256:x"
	}
	for _, id := range []string{"pull-2", "pull-3"} {
		if err := suite.UpdateTask(filepath.Join(b.dir, id), prove); err != nil {
			t.Fatal(err)
		}
	}
	proven := b.entry("pull-2").Task
	if sum := b.must(nil); sum.Kept != 2 || len(sum.Built) != 0 {
		t.Errorf("built again: %+v", sum)
	}
	if d := cmp.Diff(proven, b.entry("pull-2").Task); d != "" {
		t.Errorf("built again:\n%s", d)
	}
	// By hand, or by other rules: each difference counts.
	edit := func(name, text string) {
		if err := os.WriteFile(filepath.Join(b.dir, "pull-2", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(){
		"prompt":   func() { edit("prompt.md", "other") },
		"verify":   func() { edit("verify/workspace/test_a.py", "other") },
		"solution": func() { edit("solution/a.py", "other") },
		"command": func() {
			_ = suite.UpdateTask(filepath.Join(b.dir, "pull-2"), func(t *assay.Task) { t.Checks[0].Command = []string{"true"} })
		},
		"broken": func() { edit("task.json", "{") },
	} {
		change()
		if sum := b.must(nil); len(sum.Built) != 1 || sum.Kept != 1 || b.entry("pull-2").Task.Validation != nil {
			t.Errorf("%s: %+v, %+v", name, sum, b.entry("pull-2").Task.Validation)
		}
		if err := suite.UpdateTask(filepath.Join(b.dir, "pull-2"), prove); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBuildChooses(t *testing.T) {
	b := builtRepo(t)
	store := candidates.At(b.file)
	for _, r := range []assay.Review{{Candidate: "pull-3", Decision: assay.Accept}, {Candidate: "pull-2", Decision: assay.Reject}} {
		if err := store.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	err := store.Update("test", func(all []assay.Candidate) ([]assay.Candidate, error) {
		return append(all, assay.Candidate{Schema: assay.CandidateSchema, ID: "issue-9", Status: assay.StatusMined, Reason: assay.ReasonOpenIssue}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*flow.BuildRequest)
		want   string
	}{
		"what nobody refused": {nil, "pull-3"},
		"what was accepted":   {func(r *flow.BuildRequest) { r.Accepted = true }, "pull-3"},
		"by name":             {func(r *flow.BuildRequest) { r.IDs = []string{"pull-2"} }, "pull-2"},
		"at most":             {func(r *flow.BuildRequest) { r.Most = 1 }, "pull-3"},
	} {
		b.dir = filepath.Join(t.TempDir(), "tasks")
		if got := strings.Join(b.must(tc.change).Built, " "); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if c := b.candidate("issue-9"); c.Status != assay.StatusMined || c.Reason != assay.ReasonOpenIssue {
		t.Errorf("the issue: %+v", c)
	}
	if _, err := b.build(func(r *flow.BuildRequest) { r.IDs = []string{"pull-99"} }); err == nil || !strings.Contains(err.Error(), `no candidate "pull-99"`) {
		t.Errorf("%v", err)
	}
	b.file = filepath.Join(t.TempDir(), "none.jsonl")
	if _, err := b.build(nil); !assay.IsUser(err) {
		t.Errorf("no candidates: %v", err)
	}
}

func TestBuildWithAnOwnDockerfile(t *testing.T) {
	b := builtRepo(t)
	sum := b.must(func(r *flow.BuildRequest) {
		r.Dockerfile, r.Test, r.Format = "FROM ruby:3\n", []string{"sh", "-c", "rspec {tests} > {report}"}, "tap"
	})
	if len(sum.Built) != 3 {
		t.Fatalf("%+v", sum)
	}
	e := b.entry("pull-4")
	env, err := e.Environment()
	if err != nil {
		t.Fatal(err)
	}
	if string(env["Dockerfile"].Data) != "FROM ruby:3\n" || e.Task.Checks[0].Command[2] != "rspec spec/x_spec.rb > {report}" {
		t.Errorf("%+v %v", e.Task.Checks, env.Paths())
	}
}

// What this machine lacks proves nothing about a task.
func TestValidationTellsWhatThisMachineLacks(t *testing.T) {
	b := builtRepo(t)
	b.must(nil)
	f := miner()
	f.Commits = flow.NewCommits(f.Repos)
	f.Sandbox = func(context.Context, string, string) (flow.Sandbox, error) {
		return flow.Sandbox{
			Sandbox: local.New(local.Options{Dir: t.TempDir(), Path: t.TempDir()}),
			Close:   func(context.Context) error { return nil },
		}, nil
	}
	sum, err := f.Validate(t.Context(), t.Context(), flow.ValidateRequest{Tasks: b.dir, Jobs: 2, Repeats: 1}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Unproven() != 2 {
		t.Errorf("%+v", sum)
	}
	for _, p := range sum.Tasks {
		if p.Err == nil || !strings.Contains(p.Err.Error(), "not on this machine's PATH: python3") {
			t.Errorf("%s: %v", p.Task, p.Err)
		}
		if v := b.entry(p.Task).Task.Validation; v != nil {
			t.Errorf("%s: %+v", p.Task, v)
		}
	}
}

// A commit that is gone makes a reason, not an end.
func TestBuildOfACommitThatIsGone(t *testing.T) {
	b := builtRepo(t)
	err := candidates.At(b.file).Update("test", func(all []assay.Candidate) ([]assay.Candidate, error) {
		all[0].Base.Commit = strings.Repeat("ab", 20)
		return all, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if sum := b.must(nil); sum.Rejected[assay.ReasonUnfetchable] != 1 || len(sum.Built) != 1 {
		t.Errorf("%+v", sum)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := miner().Build(ctx, flow.BuildRequest{Candidates: b.file, Tasks: b.dir}, func(string) {}); err == nil {
		t.Error("a cancelled build ended well")
	}
}

// Mining case 7: a Rust file that holds code and tests is parted by item; what
// can't be parted is rejected with its reason, and no tests are left whole in
// the solution.
func TestMining07InlineTestsArePartedInTheBuild(t *testing.T) {
	lib := func(code, tests string) *string {
		return repo.F("pub fn f() -> u8 { " + code + " }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() { " + tests + " }\n}\n")
	}
	deep := func(code, tests string) *string {
		return repo.F("fn g() -> u8 { " + code + " }\nmod a {\n    #[test]\n    fn t() { " + tests + " }\n}\n")
	}
	r := repo.New(t.Context(), filepath.Join(t.TempDir(), "r"), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	r.Commit(dana, "Start", repo.Files{
		"Cargo.toml": repo.F("[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
		"src/lib.rs": lib("1", "assert_eq!(super::f(), 1)"), "src/deep.rs": deep("1", "1"), "tests/it.rs": repo.F("// 1\n"),
	})
	r.Commit(dana, "Inline (#2)", repo.Files{"src/lib.rs": lib("2", "assert_eq!(super::f(), 2)")})
	r.Commit(dana, "Mixed (#3)", repo.Files{
		"src/lib.rs": lib("3", "assert_eq!(super::f(), 3)"), "tests/it.rs": repo.F("// 3\n"), "src/new.rs": lib("0", "0"),
	})
	r.Commit(dana, "Deep (#4)", repo.Files{"src/deep.rs": deep("2", "2"), "src/lib.rs": lib("4", "4")})
	r.Commit(dana, "Only new (#5)", repo.Files{"src/newer.rs": lib("0", "0")})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	q := request(t, r)
	mustMine(t, q)
	b := built{t, r, q.Out, filepath.Join(t.TempDir(), "tasks")}
	if sum := b.must(nil); !cmp.Equal(sum.Built, []string{"pull-2", "pull-3"}) {
		t.Errorf("%+v", sum)
	}
	for id, want := range map[string]assay.Reason{"pull-4": assay.ReasonInlineTests, "pull-5": assay.ReasonNoTests} {
		if c := b.candidate(id); c.Status != assay.StatusRejected || c.Reason != want || c.Detail == "" {
			t.Errorf("%s: %s %s %q, want %s", id, c.Status, c.Reason, c.Detail, want)
		}
	}
	for id, want := range map[string][]string{
		"pull-2": {"inline-tests/src/lib.rs", "src/lib.rs"},
		"pull-3": {"inline-tests/src/lib.rs", "workspace/tests/it.rs", "src/lib.rs", "src/new.rs"},
	} {
		e := b.entry(id)
		verify, err := e.Verify()
		if err != nil {
			t.Fatal(err)
		}
		solution, err := e.Solution()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, append(verify.Paths(), solution.Paths()...)); d != "" {
			t.Errorf("%s: %s", id, d)
		}
		number := strings.TrimPrefix(id, "pull-")
		if s := string(verify["inline-tests/src/lib.rs"].Data); !strings.Contains(s, "f(), "+number) || strings.Contains(s, "pub fn") {
			t.Errorf("%s: the hidden tests are %q", id, s)
		}
		if s := string(solution["src/lib.rs"].Data); !strings.Contains(s, "{ "+number+" }") || strings.Contains(s, "f(), "+number) {
			t.Errorf("%s: the solution is %q", id, s)
		}
		if s := string(solution["src/new.rs"].Data); strings.Contains(s, "cfg(test)") {
			t.Errorf("%s: a new file's tests are in the solution: %q", id, s)
		}
		if words := e.Task.Checks[0].Command[2]; !strings.Contains(words, "--lib") {
			t.Errorf("%s: %s", id, words)
		}
	}
}

// A candidate that is rejected now leaves no task of an earlier build behind;
// a folder that isn't ours stays.
func TestBuildWithdrawsWhatItRejects(t *testing.T) {
	b := builtRepo(t)
	b.must(nil)
	unbuildable := func(r *flow.BuildRequest) { r.Dockerfile, r.Test, r.Format = "FROM x\n", []string{"t"}, "none such" }
	err := suite.UpdateTask(filepath.Join(b.dir, "pull-3"), func(t *assay.Task) { t.Source.Number = 33 })
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	req := flow.BuildRequest{Candidates: b.file, Tasks: b.dir}
	unbuildable(&req)
	sum, err := miner().Build(t.Context(), req, func(s string) { said = append(said, s) })
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"pull-2"}, sum.Removed); d != "" {
		t.Error(d)
	}
	left, err := os.ReadDir(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(left))
	for _, e := range left {
		names = append(names, e.Name())
	}
	if d := cmp.Diff([]string{"environment", "pull-3"}, names); d != "" {
		t.Error(d)
	}
	text := strings.Join(said, "\n")
	if !strings.Contains(text, "pull-2 is removed: an earlier build made it") || !strings.Contains(text, "pull-3 stays") {
		t.Error(text)
	}
	if c := b.candidate("pull-2"); c.Task != "" || c.Status != assay.StatusRejected {
		t.Errorf("%+v", c)
	}
}

// A statement that holds a line of the reference is doubted, though mining saw
// no content of files; a line that the base has already is none.
func TestBuildDoubtsStatementsThatHoldTheGold(t *testing.T) {
	const old, fresh = "def total(prices, skipped=1):", "return sum(price for price in prices)"
	r := repo.New(t.Context(), filepath.Join(t.TempDir(), "r"), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	r.Commit(dana, "Start", repo.Files{
		"setup.py": repo.F(""), "a.py": repo.F(old + "\n    return 0\n"), "test_a.py": repo.F("import unittest\n"),
	})
	r.Commit(dana, "Sum (#2)\n\nThe function "+old+" is wrong. With `"+fresh+"` it is right.", repo.Files{
		"a.py": repo.F(old + "\n    " + fresh + "\n"), "test_a.py": repo.F("import unittest\n# 2\n"),
	})
	r.Commit(dana, "Zero (#3)\n\nThe function "+old+" should give nothing for no prices at all.", repo.Files{
		"a.py": repo.F(old + "\n    return None if not prices else 0\n"), "test_a.py": repo.F("import unittest\n# 3\n"),
	})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	q := request(t, r)
	mustMine(t, q)
	b := built{t, r, q.Out, filepath.Join(t.TempDir(), "tasks")}
	b.must(nil)
	b.must(nil)
	gold := func(id string) (found []string) {
		for _, d := range b.candidate(id).Doubts {
			if d.Kind == "contains_gold" {
				found = append(found, d.Evidence)
			}
		}
		return found
	}
	if d := cmp.Diff([][]string{{fresh}, nil}, [][]string{gold("pull-2"), gold("pull-3")}); d != "" {
		t.Error(d)
	}
}
