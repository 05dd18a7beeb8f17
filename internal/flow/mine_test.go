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
	"github.com/assaybot/assay/internal/git"
	"github.com/assaybot/assay/internal/suite"
	"github.com/assaybot/assay/internal/testkit/repo"
	"github.com/assaybot/assay/internal/tree"
)

const dana = "Dana Dev <dana@example.com>"

func minedRepo(t *testing.T) *repo.Repo {
	t.Helper()
	r := repo.New(t.Context(), filepath.Join(t.TempDir(), "r"), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	r.Commit(dana, "Start", repo.Files{"a.py": repo.F("0\n"), "test_a.py": repo.F("0\n")})
	for _, s := range []string{"2", "3", "4"} {
		land(r, s)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

// land squash-merges a pull request.
func land(r *repo.Repo, number string) {
	r.Commit(dana, "Fix (#"+number+")\n\nFixes #1", repo.Files{"a.py": repo.F(number + "\n"), "test_a.py": repo.F(number + "\n")})
}

func miner() *flow.Flow {
	tool := git.Tool{Env: []string{"PATH=" + os.Getenv("PATH")}}
	return &flow.Flow{
		Owner: "test", Now: func() time.Time { return time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC) },
		Repos: func(ctx context.Context, name string) (flow.Repository, error) {
			r, err := tool.Find(ctx, name)
			if err != nil {
				return nil, err
			}
			return r, nil
		},
	}
}

func request(t *testing.T, r *repo.Repo) flow.MineRequest {
	t.Helper()
	return flow.MineRequest{Repo: r.Dir, Since: "2026-01-02", Out: filepath.Join(t.TempDir(), "candidates.jsonl")}
}

func mustMine(t *testing.T, q flow.MineRequest) flow.MineSummary {
	t.Helper()
	sum, err := miner().Mine(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func names(sum flow.MineSummary) string {
	var out []string
	for _, c := range sum.Candidates {
		out = append(out, c.ID)
	}
	return strings.Join(out, " ")
}

func TestMining12ASecondRunCostsOnlyWhatIsNew(t *testing.T) {
	r := minedRepo(t)
	for range 10 {
		r.Commit(dana, "By hand", nil)
	}
	q := request(t, r)
	first := mustMine(t, q)
	if len(first.Added) != 13 || first.Looked != 13 {
		t.Fatalf("first run: %d new of %d", len(first.Added), first.Looked)
	}
	before, err := os.ReadFile(q.Out)
	if err != nil {
		t.Fatal(err)
	}
	again := mustMine(t, q)
	after, err := os.ReadFile(q.Out)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Added)+len(again.Changed) != 0 || again.Looked != 5 || string(before) != string(after) {
		t.Errorf("second run: %+v", again)
	}
	land(r, "30")
	third := mustMine(t, q)
	if d := cmp.Diff([]string{"pull-30"}, third.Added); d != "" || third.Looked != 6 {
		t.Errorf("third run looked at %d: %s", third.Looked, d)
	}
	// What parts found is what one run finds.
	whole := q
	whole.Out = filepath.Join(t.TempDir(), "whole.jsonl")
	if d := cmp.Diff(mustMine(t, whole).Candidates, third.Candidates); d != "" {
		t.Errorf("in one run (-) and in parts (+):\n%s", d)
	}
}

// Links by address name the repository's own issues only where its address is
// known; with another one all is looked at again.
func TestAnotherAddressLooksAtAllAgain(t *testing.T) {
	r := minedRepo(t)
	q := request(t, r)
	first := mustMine(t, q)
	q.URL = "https://github.com/acme/elsewhere"
	if again := mustMine(t, q); again.Looked != first.Looked {
		t.Errorf("looked at %d of %d", again.Looked, first.Looked)
	}
}

func TestAnEarlierSinceLooksAtAllAgain(t *testing.T) {
	r := minedRepo(t)
	q := request(t, r)
	q.Since = "2026-01-04"
	if got := names(mustMine(t, q)); got != "pull-4" {
		t.Fatalf("since the 4th: %s", got)
	}
	q.Since = "2026-01-02"
	if got := names(mustMine(t, q)); got != "pull-2 pull-3 pull-4" {
		t.Errorf("since the 2nd: %s", got)
	}
}

func TestDecisionsAndResultsSurvive(t *testing.T) {
	r := minedRepo(t)
	q := request(t, r)
	mustMine(t, q)
	store := candidates.At(q.Out)
	err := store.Update("test", func(all []assay.Candidate) ([]assay.Candidate, error) {
		all[0].Status, all[0].Validation = assay.StatusValid, &assay.Validation{Status: "valid"}
		all[1].Status, all[1].Digest = assay.StatusValid, "of another state"
		return all, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Append(assay.Review{Candidate: "pull-2", Decision: assay.Accept, Who: "eve"}); err != nil {
		t.Fatal(err)
	}
	sum := mustMine(t, q)
	if c := sum.Candidates[0]; c.Status != assay.StatusValid || c.Validation == nil {
		t.Errorf("unchanged: %+v", c)
	}
	if c := sum.Candidates[1]; c.Status != assay.StatusMined || len(sum.Changed) != 1 {
		t.Errorf("changed: %+v", c)
	}
	if log, err := store.Reviews(); err != nil || len(log) != 1 {
		t.Errorf("reviews: %v %v", log, err)
	}
}

// The commit of the cursor is gone after a rewrite: all is looked at, and no
// candidate of the rewritten part doubles.
func TestMining05TheCursorsCommitIsGone(t *testing.T) {
	r := minedRepo(t)
	q := request(t, r)
	mustMine(t, q)
	marks, err := candidates.At(q.Out).Marks()
	if err != nil || len(marks) != 1 {
		t.Fatal(marks, err)
	}
	for k, m := range marks {
		m.Commit = strings.Repeat("ab", 20)
		marks[k] = m
	}
	if err := candidates.At(q.Out).SaveMarks(marks); err != nil {
		t.Fatal(err)
	}
	if sum := mustMine(t, q); sum.Looked != 3 || sum.Same != 3 {
		t.Errorf("%+v", sum)
	}
}

func TestBaseRules(t *testing.T) {
	r := minedRepo(t)
	q := request(t, r)
	q.Since, q.Base = "2026-01-03", "cutoff"
	cutoff := r.Git("rev-parse", "HEAD~2")
	sum := mustMine(t, q)
	if len(sum.Candidates) != 2 {
		t.Fatalf("%s", names(sum))
	}
	for _, c := range sum.Candidates {
		if c.Base != (assay.Base{Commit: cutoff, Rule: "cutoff"}) {
			t.Errorf("%s: %+v, want %s", c.ID, c.Base, cutoff)
		}
	}
	q.Out += "x"
	q.Since = "2026-01-01"
	if _, err := miner().Mine(t.Context(), q); !assay.IsUser(err) || !strings.Contains(err.Error(), "no commit before") {
		t.Errorf("nothing before the cutoff: %v", err)
	}
}

func TestMineTellsMistakes(t *testing.T) {
	r := minedRepo(t)
	other := minedRepo(t)
	shallow := filepath.Join(t.TempDir(), "shallow")
	r.Git("clone", "--quiet", "--depth=1", "file://"+r.Dir, shallow)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	empty := repo.New(t.Context(), filepath.Join(t.TempDir(), "empty"), time.Now())
	if err := empty.Err(); err != nil {
		t.Fatal(err)
	}
	land(other, "9")
	q := request(t, r)
	mustMine(t, q)
	for want, change := range map[string]func(*flow.MineRequest){
		"no git repository":           func(q *flow.MineRequest) { q.Repo = t.TempDir() },
		"there is no repository":      func(q *flow.MineRequest) { q.Repo = "/nowhere" },
		"git fetch --unshallow":       func(q *flow.MineRequest) { q.Repo = shallow },
		"has no commits":              func(q *flow.MineRequest) { q.Repo = empty.Dir },
		"there is no branch \"nope\"": func(q *flow.MineRequest) { q.Branch = "nope" },
		"a date is needed":            func(q *flow.MineRequest) { q.Since = "" },
		"\"yesterday\" is no date":    func(q *flow.MineRequest) { q.Since = "yesterday" },
		"is in the future":            func(q *flow.MineRequest) { q.Since = "2026-09-01" },
		"is before --since":           func(q *flow.MineRequest) { q.Until = "2025-01-01" },
		"parent or cutoff":            func(q *flow.MineRequest) { q.Base = "head" },
		"name another file":           func(q *flow.MineRequest) { q.Repo = withOtherHistory(t) },
	} {
		bad := q
		change(&bad)
		if _, err := miner().Mine(t.Context(), bad); !assay.IsUser(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	_, err := miner().Mine(t.Context(), flow.MineRequest{Since: "x", Base: "y"})
	if err == nil || len(strings.Split(err.Error(), "\n")) != 3 {
		t.Errorf("not all mistakes at once: %v", err)
	}
}

func withOtherHistory(t *testing.T) string {
	t.Helper()
	r := repo.New(t.Context(), filepath.Join(t.TempDir(), "else"), time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
	land(r, "5")
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return r.Dir
}

func TestParseDate(t *testing.T) {
	now := time.Date(2026, 3, 10, 15, 4, 5, 0, time.UTC)
	for in, want := range map[string]string{
		"2025-09-01":                "2025-09-01T00:00:00Z",
		"2025-09-01T12:00:00+02:00": "2025-09-01T10:00:00Z",
		"90d":                       "2025-12-10T00:00:00Z",
		"2w":                        "2026-02-24T00:00:00Z",
		"1m":                        "2026-02-10T00:00:00Z",
		" 1y ":                      "2025-03-10T00:00:00Z",
	} {
		got, err := flow.ParseDate(in, now)
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q: %s %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "d", "2025-13-01", "01.09.2025", "-5d", "999999d"} {
		if got, err := flow.ParseDate(in, now); !assay.IsUser(err) {
			t.Errorf("%q: %s %v", in, got, err)
		}
	}
}

func TestYieldWithTasks(t *testing.T) {
	r := minedRepo(t)
	q := request(t, r)
	mustMine(t, q)
	tasks := filepath.Join(t.TempDir(), "tasks")
	task := assay.Task{Schema: assay.TaskSchema, ID: "pull-2", Prompt: "Fix it.", Kind: assay.KindCorrectness, Language: "python",
		Validation: &assay.Validation{Status: "quarantined", Reason: "flaky"}}
	if err := suite.WriteTask(filepath.Join(tasks, "pull-2"), task, "", map[string]tree.Tree{"workspace": {"a.py": tree.Text("x")}}); err != nil {
		t.Fatal(err)
	}
	f := miner()
	for name, tc := range map[string]struct {
		path, tasks string
		changes     int
	}{"file and tasks": {q.Out, tasks, 3}, "folder": {filepath.Dir(q.Out), tasks, 3}, "tasks alone": {tasks, "", 1}} {
		y, err := f.Yield(tc.path, tc.tasks)
		if err != nil || y.Changes != tc.changes {
			t.Errorf("%s: %+v %v", name, y, err)
			continue
		}
		found := false
		for _, row := range y.Rows {
			found = found || row.Reason == assay.ReasonFlaky && row.Count == 1
		}
		if !found {
			t.Errorf("%s: validation's word is missing: %+v", name, y)
		}
	}
	if _, err := f.Yield(t.TempDir(), ""); !assay.IsUser(err) {
		t.Errorf("nothing there: %v", err)
	}
}
