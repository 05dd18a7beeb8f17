package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/git"
	"github.com/assaybot/assay/internal/github"
	"github.com/assaybot/assay/internal/history"
	"github.com/assaybot/assay/internal/publish"
	fake "github.com/assaybot/assay/internal/testkit/github"
	"github.com/assaybot/assay/internal/tree"
)

// office is a repository on a GitHub of its own, with a git remote behind it.
type office struct {
	*testing.T
	flow *Flow
	hub  *fake.Server
	repo *fake.Repo
	dir  string // the bare repository
	pool string // the mined folder
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{T: t, hub: fake.New(t), dir: filepath.Join(t.TempDir(), "hub.git"), pool: t.TempDir()}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	o.git("init", "--quiet", "--bare", ".")
	o.repo = o.hub.Add("acme/shop")
	// Row 36: the default branch has a name of its own.
	o.repo.Default = "trunk"
	o.repo.Resolve = func(branch string) string { return o.try("rev-parse", "--verify", "--quiet", "refs/heads/"+branch) }
	host, err := github.HostOf(o.hub.URL+"/api/v3", o.hub.URL+"/api/graphql", "")
	if err != nil {
		t.Fatal(err)
	}
	desk := func(name string) (publish.Desk, error) {
		repo, _, err := github.ParseRepo(name)
		if err != nil {
			return nil, err
		}
		c, err := github.NewClient(github.NewTransport(github.Options{Host: host, WriteGap: -1,
			Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
			Token: func(context.Context) (string, error) { return fake.LongToken, nil }}), repo)
		return github.NewTarget(c), err
	}
	tool := git.Tool{Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}}
	o.flow = &Flow{Owner: "test", Now: func() time.Time { return morning }, GitHub: GitHub{Repo: "acme/shop", Remote: o.dir, SHA: strings.Repeat("a", 40), Desk: desk},
		Branches: func(ctx context.Context, remote, name, folder string) (Branch, error) {
			return tool.Branch(ctx, remote, name, folder)
		}}
	o.push("trunk", tree.Tree{"README.md": tree.Text("shop"), "tasks/old/task.json": tree.Text(taskText("old", 1))})
	return o
}

func (o *office) try(args ...string) string {
	out, _ := exec.Command("git", append([]string{"-C", o.dir}, args...)...).Output()
	return strings.TrimSpace(string(out))
}

func (o *office) git(args ...string) string {
	o.Helper()
	out, err := exec.CommandContext(o.Context(), "git", append([]string{"-C", o.dir}, args...)...).CombinedOutput()
	if err != nil {
		o.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// push commits to a branch, as a person would.
func (o *office) push(branch string, put tree.Tree, drop ...string) {
	o.Helper()
	b, err := o.flow.Branches(o.Context(), o.dir, branch, "")
	if err != nil {
		o.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	tip, _, err := b.Read(o.Context())
	if err == nil {
		_, err = b.Write(o.Context(), history.Commit{Tip: tip, Message: "By hand", Put: put, Drop: drop})
	}
	if err != nil {
		o.Fatal(err)
	}
}

func taskText(id string, number int) string {
	return fmt.Sprintf(`{"schema": 1, "id": %q, "title": "Fix @team's | crash", "tier": "mined", "prompt": "Mend it.",
		"source": {"kind": "pull", "number": %d, "commit": "c", "url": "https://github.example/acme/shop/pull/%d", "issues": [%d]},
		"environment": {"image": "python:3.13-slim"}, "limits": {"timeout_sec": 60},
		"checks": [{"name": "c", "kind": "command", "command": ["sh", "{verify}/check.sh"]}],
		"validation": {"status": "valid"}, "strength": {"hunks": 3, "noticed": 2, "share": 0.66}}`, id, number, number, number+100)
}

// mined lays a proven task, and its candidate, into the mined folder.
func (o *office) mined(status string, ids ...string) {
	o.Helper()
	var lines []string
	for i, id := range ids {
		files := map[string]string{"task.json": strings.Replace(taskText(id, i+7), `"status": "valid"`, `"status": "`+status+`", "reason": "flaky"`, 1),
			"verify/check.sh": "true\n", "workspace/a.txt": "a\n", "solution/a.txt": "b\n"}
		for name, text := range files {
			name = filepath.Join(o.pool, "tasks", id, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				o.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				o.Fatal(err)
			}
		}
		line, err := json.Marshal(assay.Candidate{Schema: assay.CandidateSchema, ID: id, Status: assay.StatusBuilt, Task: id, Source: assay.Source{Kind: "pull", Number: i + 7, Commit: "c", Issues: []int{i + 107}}})
		if err != nil {
			o.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	if err := os.WriteFile(filepath.Join(o.pool, MinedCandidates), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		o.Fatal(err)
	}
}

func (o *office) propose(write bool) ProposeSummary {
	o.Helper()
	s, err := o.flow.Propose(o.Context(), ProposeRequest{Dir: o.pool, Write: write})
	if err != nil {
		o.Fatal(err)
	}
	return s
}

// One pull request: made once, then added to; what people push to its branch
// stays; nothing new changes nothing.
func TestTasksAreOneProposal(t *testing.T) {
	o := newOffice(t)
	o.mined("valid", "pull-7", "old")
	o.mined("quarantined", "pull-9")
	// Row 43: without --write nothing is written.
	if s := o.propose(false); len(s.New) != 1 || o.try("rev-parse", "--verify", "refs/heads/assay-tasks") != "" || len(o.repo.Pulls) != 0 {
		t.Fatalf("%+v", s)
	}
	first := o.propose(true)
	if d := cmp.Diff([]string{"pull-7"}, first.New); d != "" || first.Pull.Number == 0 {
		t.Fatalf("%s, %+v", d, first)
	}
	p := o.repo.Pull(first.Pull.Number)
	if p.Base != "trunk" || p.Head != TasksBranch || p.Title != "assay: 1 task from merged changes" || strings.Contains(p.Body, " @team") {
		t.Errorf("%+v", p)
	}
	for _, want := range []string{"`pull-7`", "tests notice 2 of 3 hunks", "https://github.example/acme/shop/pull/7", "<!-- assay:tasks v1 pull-7 -->"} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("no %q in\n%s", want, p.Body)
		}
	}
	if names := o.git("ls-tree", "-r", "--name-only", TasksBranch); !strings.Contains(names, "README.md\n") || !strings.Contains(names, "tasks/pull-7/verify/check.sh") {
		t.Errorf("the branch holds %s", names)
	}
	tip := o.git("rev-parse", TasksBranch)
	if s := o.propose(true); len(s.New) != 0 || o.git("rev-parse", TasksBranch) != tip || len(o.repo.Pulls) != 1 {
		t.Errorf("nothing new changed something: %+v", s)
	}
	o.push(TasksBranch, tree.Tree{"tasks/pull-7/NOTES.md": tree.Text("a look")})
	o.mined("valid", "pull-8")
	again := o.propose(true)
	if d := cmp.Diff([]string{"pull-8"}, again.New); d != "" || len(o.repo.Pulls) != 1 || again.Pull.Number != first.Pull.Number {
		t.Errorf("%s, %+v", d, again)
	}
	if !strings.Contains(p.Body, "v1 pull-7 pull-8 -->") || !strings.HasPrefix(p.Title, "assay: 2 tasks") || !strings.Contains(o.git("ls-tree", "-r", "--name-only", TasksBranch), "tasks/pull-7/NOTES.md") {
		t.Errorf("%s\n%s", p.Title, p.Body)
	}
}

// A pull request that was closed is not reopened, and its tasks are not
// offered again; a merged one is done with.
func TestAClosedProposalStaysClosed(t *testing.T) {
	o := newOffice(t)
	o.mined("valid", "pull-7")
	first := o.propose(true)
	tip := o.git("rev-parse", TasksBranch)
	o.hub.Edit(func() { p := o.repo.Pull(first.Pull.Number); p.State, p.HeadSHA = "CLOSED", tip })
	s := o.propose(true)
	if len(s.New) != 0 || len(s.Refused) != 1 || len(o.repo.Pulls) != 1 || o.repo.Pulls[0].State != "CLOSED" {
		t.Errorf("%+v", s)
	}
	// Something else is a pull request of its own, without what was refused.
	o.mined("valid", "pull-8")
	s = o.propose(true)
	names := o.git("ls-tree", "-r", "--name-only", TasksBranch)
	if len(o.repo.Pulls) != 2 || s.Pull.Number == first.Pull.Number || strings.Contains(names, "pull-7") || !strings.Contains(names, "pull-8") {
		t.Errorf("%+v\n%s", s, names)
	}
	// It is merged, and the branch stays behind.
	tip = o.git("rev-parse", TasksBranch)
	o.git("update-ref", "refs/heads/trunk", tip)
	o.hub.Edit(func() { p := o.repo.Pull(s.Pull.Number); p.State, p.HeadSHA, p.Merged = "MERGED", tip, morning })
	if s = o.propose(true); len(s.New)+len(s.Pending) != 0 || len(o.repo.Pulls) != 2 {
		t.Errorf("%+v", s)
	}
	o.mined("valid", "pull-9")
	if s = o.propose(true); len(s.New) != 1 || len(o.repo.Pulls) != 3 || s.Pull.Title != "assay: 1 task from merged changes" {
		t.Errorf("%+v", s)
	}
}

// Row 36: the default branch is asked for each time.
func TestRow36ADefaultBranchThatIsRenamed(t *testing.T) {
	o := newOffice(t)
	o.git("branch", "-m", "trunk", "main-line")
	o.hub.Edit(func() { o.repo.Default = "main-line" })
	o.mined("valid", "pull-7")
	if s := o.propose(true); o.repo.Pull(s.Pull.Number).Base != "main-line" {
		t.Errorf("%+v", s)
	}
}

// Row 52: lists that can't be read are not empty ones.
func TestRow52ProposalsThatCannotBeRead(t *testing.T) {
	o := newOffice(t)
	o.mined("valid", "pull-7")
	o.hub.Fail(fake.Fault{Method: "GET", Path: "/repos/acme/shop/pulls", Times: 50, Status: 500})
	if _, err := o.flow.Propose(t.Context(), ProposeRequest{Dir: o.pool, Write: true}); err == nil {
		t.Error("it went on")
	}
	if o.try("rev-parse", "--verify", "refs/heads/"+TasksBranch) != "" {
		t.Error("the branch was pushed")
	}
}

// Where workflows may make no pull requests the branch holds the tasks, and
// the next night makes one if it may.
func TestProposalThatIsDenied(t *testing.T) {
	o := newOffice(t)
	o.mined("valid", "pull-7")
	o.hub.Edit(func() { o.repo.NoPulls = true })
	s := o.propose(true)
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "Workflow permissions") || s.Pull.Number != 0 {
		t.Fatalf("%+v", s)
	}
	o.hub.Edit(func() { o.repo.NoPulls = false })
	if s = o.propose(true); s.Pull.Number == 0 || len(s.Pending) != 1 || len(s.New) != 0 {
		t.Errorf("%+v", s)
	}
}

// A write that failed after it landed makes no second pull request.
func TestRow17AProposalThatLanded(t *testing.T) {
	o := newOffice(t)
	o.mined("valid", "pull-7")
	o.hub.Fail(fake.Fault{Method: "POST", Path: "/repos/acme/shop/pulls", Times: 1, Status: 502, After: true})
	if s := o.propose(true); s.Pull.Number == 0 || len(o.repo.Pulls) != 1 {
		t.Errorf("%+v, %d pull requests", s, len(o.repo.Pulls))
	}
}

// What mining knows is kept on the branch, with what validation said.
func TestMiningIsKept(t *testing.T) {
	o := newOffice(t)
	o.mined("valid", "pull-7")
	o.propose(true)
	dir := t.TempDir()
	wrote, err := o.flow.FetchMining(t.Context(), HistoryPlace{}, dir)
	if err != nil || len(wrote) != 1 {
		t.Fatal(wrote, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, MinedCandidates))
	if err != nil || !strings.Contains(string(data), `"status":"valid"`) {
		t.Errorf("%s, %v", data, err)
	}
	tip := o.git("rev-parse", HistoryBranch)
	o.propose(true)
	if o.git("rev-parse", HistoryBranch) != tip {
		t.Error("the same was pushed again")
	}
	// What is there already is not overwritten.
	if wrote, err = o.flow.FetchMining(t.Context(), HistoryPlace{}, dir); err != nil || len(wrote) != 0 {
		t.Error(wrote, err)
	}
}

func (o *office) begin(r IssueRequest) Begun {
	o.Helper()
	b, err := o.flow.BeginIssue(o.Context(), r)
	if err != nil {
		o.Fatal(err)
	}
	return b
}

func (o *office) comments(n int) []string {
	var out []string
	for _, c := range o.repo.Issue(n).Comments {
		out = append(out, c.Body)
	}
	return out
}

// An issue goes through its stages in one comment.
func TestIssueIsAnsweredInPlace(t *testing.T) {
	o := newOffice(t)
	n := o.repo.AddIssue(fake.Issue{Thread: fake.Thread{Number: 107, Title: "Crash", Labels: []string{"assay"}}}).Number
	o.repo.AddIssue(fake.Issue{Thread: fake.Thread{Number: 108, Labels: []string{"assay"}}})
	r := IssueRequest{Number: n, Actor: "octocat", Mined: o.pool}
	if b := o.begin(r); !b.Go {
		t.Fatalf("%+v", b)
	}
	answer := func(stage publish.Stage, want string) {
		t.Helper()
		a, err := o.flow.AnswerIssue(t.Context(), r)
		got := o.comments(n)
		if err != nil || a.Stage != stage || len(got) != 1 || !strings.Contains(got[0], want) || !strings.Contains(got[0], "**Next:**") {
			t.Errorf("%+v, %v, %d comments: %q", a, err, len(got), got)
		}
	}
	if got := o.comments(n); len(got) != 1 || !strings.Contains(got[0], "Queued") || !strings.Contains(got[0], "`aaaaaaaa`") {
		t.Errorf("%q", got)
	}
	answer(publish.StageWaiting, "No merged pull request closes this issue")
	o.mined("quarantined", "pull-7")
	answer(publish.StageRejected, "flaky")
	o.mined("valid", "pull-7")
	answer(publish.StageValid, "`pull-7`")
	// Its task is scored: only issues that were answered are told.
	results := t.TempDir()
	o.results(results, "pull-7", "pull-8")
	told, err := o.flow.ScoreIssues(t.Context(), IssueRequest{}, results)
	if got := o.comments(n); err != nil || len(told) != 1 || len(got) != 1 || !strings.Contains(got[0], "Scored") || !strings.Contains(got[0], "oracle / baseline: 1/1") {
		t.Errorf("%v, %v: %q", told, err, got)
	}
	if len(o.comments(108)) != 0 {
		t.Error("an issue that was never answered was commented on")
	}
	// Twice is once.
	if told, err = o.flow.ScoreIssues(t.Context(), IssueRequest{}, results); err != nil || len(told) != 1 || len(o.comments(n)) != 1 {
		t.Error(told, err)
	}
}

// results makes a results folder in which oracle resolved each task.
func (o *office) results(dir string, tasks ...string) {
	o.Helper()
	var plan assay.Plan
	for _, task := range tasks {
		tr := assay.Trial{Task: task, Variant: assay.Baseline, Agent: assay.AgentSpec{Name: "oracle"}, Repeat: 1, Sandbox: "local"}
		tr.ID = assay.TrialID(tr)
		plan.Trials = append(plan.Trials, tr)
		o.json(filepath.Join(dir, tr.Dir(), "attempts", "1", "result.json"), assay.Result{Schema: assay.ResultSchema, Trial: tr, Attempt: 1, Outcome: assay.Passed, Resolved: true,
			Started: morning, Finished: morning.Add(time.Minute)})
	}
	o.json(filepath.Join(dir, "plan.json"), plan)
}

func (o *office) json(name string, v any) {
	o.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(name), 0o755)
	}
	if err == nil {
		err = os.WriteFile(name, data, 0o644)
	}
	if err != nil {
		o.Fatal(err)
	}
}

// Row 21: the same label, issue and commit are one piece of work.
func TestRow21TheSameLabelTwiceIsOnce(t *testing.T) {
	o := newOffice(t)
	o.repo.AddIssue(fake.Issue{Thread: fake.Thread{Number: 3}})
	r := IssueRequest{Number: 3, Actor: "octocat"}
	if b := o.begin(r); !b.Go {
		t.Fatalf("%+v", b)
	}
	// A job that died left it queued: the next one goes on.
	if b := o.begin(r); !b.Go || len(o.comments(3)) != 1 {
		t.Errorf("%+v", b)
	}
	// So it is where the machinery failed.
	if a, err := o.flow.AnswerIssue(t.Context(), r); err != nil || a.Stage != publish.StageUnproven {
		t.Fatal(a, err)
	}
	if b := o.begin(r); !b.Go || len(o.comments(3)) != 1 {
		t.Errorf("%+v", b)
	}
	r.Mined = o.pool
	if _, err := o.flow.AnswerIssue(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if b := o.begin(r); b.Go || !strings.Contains(b.Why, "answered already") || len(o.comments(3)) != 1 {
		t.Errorf("%+v", b)
	}
	// Another commit is other work; another label another answer.
	r.SHA = strings.Repeat("b", 40)
	if b := o.begin(r); !b.Go || len(o.comments(3)) != 1 || !strings.Contains(o.comments(3)[0], "`bbbbbbbb`") {
		t.Errorf("%+v: %q", b, o.comments(3))
	}
	r.Label = "other"
	if b := o.begin(r); !b.Go || len(o.comments(3)) != 2 {
		t.Errorf("%+v", b)
	}
}

// Row 45 and section 1.4: only who may write starts something, and it is bound
// to a commit.
func TestRow45WhoMaySpend(t *testing.T) {
	o := newOffice(t)
	o.repo.AddIssue(fake.Issue{Thread: fake.Thread{Number: 3}})
	for role, may := range map[string]bool{"admin": true, "maintain": true, "write": true, "triage": false, "read": false, "": false, "custom": false} {
		o.hub.Edit(func() {
			if o.repo.Permissions["mallory"] = role; role == "" {
				delete(o.repo.Permissions, "mallory")
			}
		})
		b := o.begin(IssueRequest{Number: 3, Actor: "mallory", Pull: true})
		if b.Go != may || (b.Why == "") != may {
			t.Errorf("%s: %+v", role, b)
		}
	}
	o.hub.Edit(func() { o.repo.Permissions["mallory"] = "triage" })
	if b := o.begin(IssueRequest{Number: 3, Actor: "mallory"}); b.Go || len(o.comments(3)) != 0 {
		t.Errorf("a stranger made a comment: %+v", b)
	}
	for _, r := range []IssueRequest{{Number: 3, Actor: "octocat", SHA: "main"}, {Number: 3, Actor: "octocat", SHA: "abc123"}, {Number: 3, SHA: strings.Repeat("a", 40)}, {Actor: "octocat"}} {
		if _, err := o.flow.BeginIssue(t.Context(), r); !assay.IsUser(err) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	// A server that doesn't answer is no permission.
	o.hub.Fail(fake.Fault{Method: "GET", Path: "/repos/acme/shop/collaborators/*/permission", Times: 50, Status: 500})
	if b, err := o.flow.BeginIssue(t.Context(), IssueRequest{Number: 3, Actor: "octocat"}); err == nil || b.Go {
		t.Errorf("%+v, %v", b, err)
	}
}

// Row 43: nobody is told but who asked: a closed issue's label asks, a score
// does not.
func TestRow43OldIssuesAreLeftAlone(t *testing.T) {
	o := newOffice(t)
	o.repo.AddIssue(fake.Issue{State: "CLOSED", Thread: fake.Thread{Number: 107, Labels: []string{"assay"}}})
	results := t.TempDir()
	o.results(results, "pull-7")
	if told, err := o.flow.ScoreIssues(t.Context(), IssueRequest{}, results); err != nil || len(told) != 0 || len(o.comments(107)) != 0 {
		t.Error(told, err)
	}
	if b := o.begin(IssueRequest{Number: 107, Actor: "octocat"}); !b.Go || len(o.comments(107)) != 1 {
		t.Errorf("%+v", b)
	}
}
