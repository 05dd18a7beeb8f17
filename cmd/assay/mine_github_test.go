package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
	"github.com/assaybot/assay/internal/flow"
	fake "github.com/assaybot/assay/internal/testkit/github"
	"github.com/assaybot/assay/internal/testkit/repo"
)

// shop is a repository with its GitHub, and a person who mines it.
type shop struct {
	*person
	s   *fake.Server
	r   *fake.Repo
	git *repo.Repo
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{person: newPerson(t), s: fake.New(t)}
	s.env = append(s.env, "GITHUB_API_URL="+s.s.URL+"/api/v3", "GITHUB_TOKEN="+fake.LongToken)
	s.r = s.s.Add("acme/shop")
	s.git = repo.New(t.Context(), s.path("clone"), on(1))
	s.commit("Start")
	return s
}

func on(day int) time.Time { return time.Date(2026, 1, day, 12, 0, 0, 0, time.UTC) }

// commit lands a change of source and tests.
func (s *shop) commit(message string) string {
	s.t.Helper()
	text := repo.F(fmt.Sprintln(s.git.Now.Unix()))
	id := s.git.Commit("Dana Dev <dana@example.com>", message, repo.Files{"a.py": text, "test_a.py": text})
	if err := s.git.Err(); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// pull lands a pull request and tells GitHub of it.
func (s *shop) pull(p fake.Pull) *fake.Pull {
	s.t.Helper()
	if p.Merged.IsZero() {
		p.Merged = s.git.Now
	}
	if p.Updated.IsZero() {
		p.Updated = p.Merged
	}
	if p.Author.Login == "" {
		p.Author = fake.User("ann")
	}
	out := s.r.AddPull(p)
	if p.MergeCommit == "" {
		id := s.commit(fmt.Sprintf("%s (#%d)", p.Title, out.Number))
		s.s.Edit(func() { out.MergeCommit = id })
	}
	return out
}

// mine mines since a day before all, and tells what it said.
func (s *shop) mine(args ...string) flow.MineSummary {
	s.t.Helper()
	said := s.must(0, append([]string{"mine", "--repo", "acme/shop", "--clone", "clone", "--since", "2026-01-02", "--format", "json"}, args...)...)
	var sum flow.MineSummary
	if err := json.Unmarshal([]byte(said.out), &sum); err != nil {
		s.t.Fatal(err, said.out)
	}
	return sum
}

func (s *shop) requests() int {
	_, n := s.s.Count()
	s.s.Forget()
	return n
}

func candidate(t *testing.T, sum flow.MineSummary, id string) assay.Candidate {
	t.Helper()
	i := slices.IndexFunc(sum.Candidates, func(c assay.Candidate) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("there is no %s among %d candidates", id, len(sum.Candidates))
	}
	return sum.Candidates[i]
}

func TestMineTellsWhatGitHubKnows(t *testing.T) {
	s := newShop(t)
	body := "The cart is empty after a reload, although three things were put into it and nobody took them out again."
	crash := s.r.AddIssue(fake.Issue{State: "CLOSED", Thread: fake.Thread{Title: "Cart is empty", Body: "Fix: keep it in a.py", Author: fake.User("eve"), Labels: []string{"bug"},
		Created: on(2), Updated: on(9), Closed: on(9), Edits: []fake.Edit{{When: on(2), Text: "The cart."}, {When: on(3), Text: body}, {When: on(8), Text: "Fix: keep it in a.py"}},
		Comments: []*fake.Comment{{Author: fake.User("bob"), Body: "Since 1.2", Created: on(3)}, {Author: fake.User("bob"), Body: "Look at a.py", Created: on(7)}}}})
	s.git.Now = on(9)
	p := s.pull(fake.Pull{Thread: fake.Thread{Title: "Keep the cart", Body: "Fixes #1, see #90", Labels: []string{"fix"}, Created: on(6)},
		Head: "issue-1", Commits: []fake.Commit{{SHA: "c", Authored: on(5)}}, Closes: []fake.Ref{{Number: crash.Number}},
		Reviews: []fake.Review{{Author: fake.User("bob"), State: "CHANGES_REQUESTED", Submitted: on(6)}, {Author: fake.User("bob"), State: "APPROVED", Submitted: on(8)}}})
	s.pull(fake.Pull{Thread: fake.Thread{Title: "Tidy up", Author: fake.Bot("tidier")}})
	s.commit("By hand")
	s.pull(fake.Pull{Thread: fake.Thread{Title: "Lost"}, MergeCommit: strings.Repeat("ab", 20), Merged: on(9)})
	s.git.Git("branch", "v1", "HEAD~3")
	s.pull(fake.Pull{Thread: fake.Thread{Title: "Backport"}, Base: "v1", MergeCommit: strings.Repeat("cd", 20)})

	sum := s.mine()
	got := candidate(t, sum, "pull-2")
	want := assay.Candidate{
		Schema: assay.CandidateSchema, ID: "pull-2", Repo: s.path("clone"), Status: assay.StatusMined,
		Source: assay.Source{Kind: "pull", Number: 2, Commit: p.MergeCommit, Issues: []int{1}, URL: s.s.URL + "/acme/shop/pull/2", Merged: on(9)},
		Base:   got.Base, MergeKind: "squash", Author: "ann", Title: "Keep the cart", Labels: []string{"fix", "bug"}, Reviewed: "approved",
		Updated: on(9), IssueDate: on(2), FirstWork: on(5), Files: got.Files, Language: "python", Digest: got.Digest,
		Links: []assay.Link{
			{Issue: 1, Evidence: "closing_reference"}, {Issue: 1, Evidence: "keyword_body", Text: "Fixes #1"},
			{Issue: 1, Evidence: "branch", Text: "issue-1"}, {Issue: 90, Evidence: "mention", Text: "#90"},
		},
		Statement: assay.Statement{Origin: "issue", Number: 1, Title: "Cart is empty", Body: body, Created: on(2), Edited: on(3), Clean: true, Hints: "bob:\nSince 1.2"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("pull-2 (-want +got):\n%s", d)
	}
	for id, reason := range map[string]assay.Reason{"pull-3": assay.ReasonBot, "pull-4": assay.ReasonUnfetchable} {
		if c := candidate(t, sum, id); c.Status != assay.StatusRejected || c.Reason != reason {
			t.Errorf("%s: %s %s %s", id, c.Status, c.Reason, c.Detail)
		}
	}
	if len(sum.Candidates) != 4 || sum.Yield.Changes != 4 || sum.Yield.Candidates != 1 {
		t.Errorf("%d candidates, %+v", len(sum.Candidates), sum.Yield)
	}
	if said := s.must(2, "mine", "--repo", "clone", "--since", "2026-01-02", "--source", "issues"); !strings.Contains(said.err, "OWNER/NAME") {
		t.Error(said.err)
	}
}

func TestMineOf320PullsTakesAtMost20Requests(t *testing.T) {
	s := newShop(t)
	issue := s.r.AddIssue(fake.Issue{State: "CLOSED", Thread: fake.Thread{Title: "Slow", Body: "It is slow."}})
	// One process makes all commits.
	var stream strings.Builder
	from := s.git.Git("rev-parse", "HEAD")
	for i := range 320 {
		message := fmt.Sprintf("Fix (#%d)", i+2)
		when := on(3).Add(time.Duration(i) * time.Hour)
		fmt.Fprintf(&stream, "commit refs/heads/main\nmark :%d\ncommitter D <d@x> %d +0000\ndata %d\n%s\n", i+1, when.Unix(), len(message), message)
		if i == 0 {
			fmt.Fprintf(&stream, "from %s\n", from)
		}
		fmt.Fprintf(&stream, "M 644 inline a.py\ndata 4\n%03d\n\nM 644 inline test_a.py\ndata 4\n%03d\n\n", i, i)
	}
	cmd := exec.CommandContext(t.Context(), "git", "-C", s.git.Dir, "fast-import", "--quiet", "--export-marks="+s.path("marks"))
	cmd.Stdin = strings.NewReader(stream.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ids := strings.Fields(s.git.Git("rev-list", "--reverse", "main"))[1:]
	for i, id := range ids {
		when := on(3).Add(time.Duration(i) * time.Hour)
		s.pull(fake.Pull{Thread: fake.Thread{Title: "Fix", Author: fake.User("ann"), Created: when, Updated: when}, Merged: when, MergeCommit: id, Closes: []fake.Ref{{Number: issue.Number}}})
	}
	if sum := s.mine(); len(sum.Candidates) != 320 || sum.Yield.Candidates != 320 || candidate(t, sum, "pull-321").Statement.Origin != "issue" {
		t.Errorf("%+v", sum.Yield)
	}
	n := s.requests()
	if t.Logf("%d GraphQL requests", n); n > 20 {
		t.Errorf("%d requests", n)
	}
	if sum := s.mine(); sum.Looked > 10 || len(sum.Added)+len(sum.Changed) != 0 {
		t.Errorf("second run: looked at %d, %v %v", sum.Looked, sum.Added, sum.Changed)
	}
	if n := s.requests(); n != 1 {
		t.Errorf("the second run takes %d requests", n)
	}
}

func TestMineAgainFollowsTheCursorAndKeepsDecisions(t *testing.T) {
	s := newShop(t)
	s.s.MaxFirst = 12 // the page of 50 is too large for this server
	for range 14 {
		s.pull(fake.Pull{Thread: fake.Thread{Title: "Fix"}})
	}
	s.mine()
	if n := s.requests(); n != 5 { // 50, 25, 12 twice, and a look at the newest
		t.Errorf("the first run takes %d requests", n)
	}
	store := candidates.At(s.path("candidates.jsonl"))
	if err := store.Append(assay.Review{Candidate: "pull-3", Decision: assay.Accept, Who: "eve"}); err != nil {
		t.Fatal(err)
	}
	fresh := s.pull(fake.Pull{Thread: fake.Thread{Title: "New"}})
	s.s.Edit(func() {
		old := s.r.Pull(3)
		old.Title, old.Updated = "Edited", fresh.Updated.Add(time.Hour)
		labelled := s.r.Pull(4)
		labelled.Labels, labelled.Updated = []string{"bug"}, fresh.Updated.Add(time.Hour)
	})
	sum := s.mine()
	if d := cmp.Diff([][]string{{"pull-15"}, {"pull-3"}}, [][]string{sum.Added, sum.Changed}); d != "" {
		t.Error(d)
	}
	if c := candidate(t, sum, "pull-3"); c.Title != "Edited" || c.Status != assay.StatusMined {
		t.Errorf("%+v", c)
	}
	if c := candidate(t, sum, "pull-4"); len(c.Labels) != 1 {
		t.Errorf("the label is missing: %+v", c)
	}
	if n := s.requests(); n != 1 {
		t.Errorf("a run with the page that worked takes %d requests", n)
	}
	if log, err := store.Reviews(); err != nil || candidates.Decisions(log)["pull-3"].Decision != assay.Accept {
		t.Errorf("%v %v", log, err)
	}
	// In one run it is the same.
	if d := cmp.Diff(s.mine("--out", "whole.jsonl").Candidates, sum.Candidates); d != "" {
		t.Errorf("in one run (-) and in parts (+):\n%s", d)
	}
	// And a run that asks no server takes nothing back.
	said := s.must(0, "mine", "--repo", "clone", "--since", "2026-01-02", "--format", "json")
	if !strings.Contains(said.out, `"Edited"`) || !strings.Contains(said.out, `"review_state"`) && strings.Contains(said.out, `"changed": ["`) {
		t.Error(said.out)
	}
}

func TestMineRebasedPullsAndAStaleClone(t *testing.T) {
	s := newShop(t)
	first := s.git.Now
	s.commit("Part one")
	last := s.commit("Part two")
	s.pull(fake.Pull{Thread: fake.Thread{Title: "In two parts"}, MergeCommit: last, Merged: s.git.Now, Commits: []fake.Commit{{Authored: first}, {Authored: first.AddDate(0, 0, 1)}}})
	s.pull(fake.Pull{Thread: fake.Thread{Title: "Later"}})
	s.git.Git("branch", "ahead")
	s.git.Git("reset", "--quiet", "--hard", "HEAD~1")
	sum := s.mine()
	c := candidate(t, sum, "pull-1")
	if c.MergeKind != "rebase" || c.Base.Commit != s.git.Git("rev-parse", "HEAD~2") || len(sum.Candidates) != 2 {
		t.Errorf("%+v of %d", c, len(sum.Candidates))
	}
	if c := candidate(t, sum, "pull-2"); c.Reason != assay.ReasonUnfetchable || len(sum.Notes) != 1 || !strings.Contains(sum.Notes[0], "git fetch") {
		t.Errorf("%+v, notes %q", c, sum.Notes)
	}
	s.git.Git("reset", "--quiet", "--hard", "ahead")
	if c := candidate(t, s.mine(), "pull-2"); c.Status != assay.StatusMined {
		t.Errorf("after a fetch: %+v", c)
	}
	// The commits of the rebase are nobody else's, though nothing tells of them.
	if sum := s.mine(); len(sum.Candidates) != 2 || len(sum.Added)+len(sum.Changed) != 0 {
		t.Errorf("once more: %v %v", sum.Added, sum.Changed)
	}
}

// An issue that a commit's message closes is not on the server's list, and
// still is the statement.
func TestMineReadsIssuesThatOnlyCommitsName(t *testing.T) {
	s := newShop(t)
	s.r.AddIssue(fake.Issue{State: "CLOSED", Thread: fake.Thread{Title: "Cart is empty", Created: on(1)}})
	id := s.commit("Fix the cart (#2)\n\n* Keep it\n\nFixes #1 and #77, fixes #2")
	s.pull(fake.Pull{Thread: fake.Thread{Title: "Fix the cart"}, MergeCommit: id})
	c := candidate(t, s.mine(), "pull-2")
	if c.Statement.Title != "Cart is empty" || c.Statement.Origin != "issue" || !c.IssueDate.Equal(on(1)) {
		t.Errorf("%+v", c.Statement)
	}
	if n := s.requests(); n != 2 {
		t.Errorf("%d requests", n)
	}
	if s.mine(); s.requests() != 1 {
		t.Error("the second run asks for the issue again")
	}
}

// The main branch was renamed, and another history has been written since.
func TestMineAfterTheHistoryWasRewritten(t *testing.T) {
	s := newShop(t)
	s.pull(fake.Pull{Thread: fake.Thread{Title: "Old"}, Base: "master"})
	s.pull(fake.Pull{Thread: fake.Thread{Title: "New"}})
	if sum := s.mine(); len(sum.Candidates) != 2 || candidate(t, sum, "pull-1").Author != "ann" {
		t.Errorf("%d candidates", len(sum.Candidates))
	}
	s.git.Git("commit", "--quiet", "--amend", "--message", "New, again (#2)")
	s.git.Git("reflog", "expire", "--expire=now", "--all")
	s.git.Git("gc", "--quiet", "--prune=now")
	if err := s.git.Err(); err != nil {
		t.Fatal(err)
	}
	sum := s.mine("--out", "fresh.jsonl")
	if c := candidate(t, sum, "pull-2"); c.Title != "New" || c.Status != assay.StatusMined || c.Source.Commit != s.git.Git("rev-parse", "HEAD") {
		t.Errorf("%+v", c)
	}
	sum = s.mine()
	if c := candidate(t, sum, "pull-2"); c.Title != "New" || len(sum.Candidates) != 2 || c.Source.Commit != s.git.Git("rev-parse", "HEAD") {
		t.Errorf("%+v of %d", c, len(sum.Candidates))
	}
}

func TestMineOpenIssuesWait(t *testing.T) {
	s := newShop(t)
	s.pull(fake.Pull{Thread: fake.Thread{Title: "Fix"}})
	open := s.r.AddIssue(fake.Issue{Thread: fake.Thread{Title: "Cart is empty", Body: "Since 1.2", Author: fake.User("eve"), Created: on(2), Updated: on(5), Edits: []fake.Edit{{When: on(2)}, {When: on(5), Text: "Since 1.2"}}}})
	sum := s.mine("--source", "pulls,issues")
	c := candidate(t, sum, "issue-2")
	if c.Source.Kind != "issue" || c.Status != assay.StatusMined || c.Reason != assay.ReasonOpenIssue || !c.Statement.Clean || c.Statement.Body != "Since 1.2" || !c.IssueDate.Equal(on(2)) {
		t.Errorf("%+v", c)
	}
	if y := sum.Yield; y.Changes != 1 || y.Candidates != 1 || y.Parked != 1 {
		t.Errorf("%+v", y)
	}
	if said := s.must(2, "build", "candidates.jsonl", "--tasks", "tasks", "--id", "issue-2"); !strings.Contains(said.err, "open issue") {
		t.Error(said.err)
	}
	s.requests()
	if sum := s.mine("--source", "pulls,issues"); len(sum.Added)+len(sum.Changed) != 0 {
		t.Errorf("again: %+v", sum)
	}
	if n := s.requests(); n != 2 {
		t.Errorf("%d requests", n)
	}
	s.s.Edit(func() { open.State, open.Updated = "CLOSED", on(20) })
	s.pull(fake.Pull{Thread: fake.Thread{Title: "Fill it", Updated: on(20)}, Closes: []fake.Ref{{Number: 2}}})
	if sum := s.mine("--source", "pulls,issues"); sum.Yield.Parked != 0 || len(sum.Candidates) != 2 {
		t.Errorf("after it was closed: %+v", sum.Yield)
	}
}

func TestMineSaysWhatGitHubRefuses(t *testing.T) {
	s := newShop(t)
	s.pull(fake.Pull{Thread: fake.Thread{Title: "Fix"}})
	mine := []string{"mine", "--repo", "acme/shop", "--clone", "clone", "--since", "2026-01-02"}
	env := s.env
	for name, tc := range map[string]struct {
		env   []string
		args  []string
		fault *fake.Fault
		code  int
		want  string
	}{
		"no token":      {env: []string{"GITHUB_TOKEN="}, code: 2, want: "set GITHUB_TOKEN or GH_TOKEN"},
		"wrong token":   {env: []string{"GITHUB_TOKEN=", "GH_TOKEN=ghp_wrongwrongwrong"}, code: 2, want: "GitHub refused the token"},
		"clock":         {fault: &fake.Fault{Status: 401, Message: "Bad credentials", Header: map[string]string{"Date": "Thu, 01 Jan 2026 00:00:00 GMT"}}, code: 2, want: "set the clock"},
		"permission":    {fault: &fake.Fault{Status: 403, Message: "Resource not accessible by integration"}, code: 2, want: "lacks a permission"},
		"limit":         {fault: &fake.Fault{Status: 403, Secondary: true, RetryAfter: 7200}, code: 1, want: "rate limit holds until"},
		"no such thing": {args: []string{"--repo", "acme/nothing"}, code: 2, want: "the token can't see it"},
		"no name":       {args: []string{"--repo", "nothing"}, code: 2, want: "is no repository on GitHub"},
		"other server":  {args: []string{"--repo", "https://github.com/acme/shop", "--server", "https://ghe.example.com"}, code: 2, want: "is not on https://ghe.example.com"},
		"source":        {args: []string{"--source", "wiki"}, code: 2, want: "--source is pulls, issues"},
	} {
		s.env = append(slices.Clone(env), tc.env...)
		if tc.fault != nil {
			s.s.Fail(*tc.fault)
		}
		said := s.must(tc.code, append(slices.Clone(mine), tc.args...)...)
		if !strings.Contains(said.err, tc.want) {
			t.Errorf("%s: want %q:\n%s", name, tc.want, said.err)
		}
		if strings.Contains(said.out+said.err, "wrongwrong") || strings.Contains(said.out+said.err, fake.LongToken) {
			t.Errorf("%s: the token is told:\n%s", name, said.err)
		}
	}
}

func TestMineByAddressOfAnotherServer(t *testing.T) {
	s := newShop(t)
	s.pull(fake.Pull{Thread: fake.Thread{Title: "Told"}})
	s.env = append(s.env, "GITHUB_API_URL=")
	for _, args := range [][]string{
		{"--repo", s.s.URL + "/acme/shop", "--server", s.s.URL}, {"--repo", s.s.URL + "/acme/shop.git", "--api", s.s.URL + "/api/v3"},
	} {
		if c := candidate(t, s.mine(append(args, "--out", "x.jsonl")...), "pull-1"); c.Author != "ann" {
			t.Errorf("%v: %+v", args, c)
		}
	}
}
