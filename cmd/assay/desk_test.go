package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	fake "github.com/assaybot/assay/internal/testkit/github"
)

// newDesk is newSteps with a git remote behind the repository, which stands
// where the server's address says.
func newDesk(t *testing.T) *steps {
	t.Helper()
	s := newSteps(t)
	s.env = append(s.env, "GITHUB_SERVER_URL=file://"+s.path("hub"), "GITHUB_TOKEN="+fake.LongToken)
	s.ok(os.MkdirAll(s.path("hub/acme/shop"), 0o755))
	s.hubGit("init", "--quiet", "--bare", ".")
	s.repo.Resolve = func(branch string) string {
		out, _ := exec.Command("git", "-C", s.path("hub/acme/shop"), "rev-parse", "--verify", "--quiet", "refs/heads/"+branch).Output()
		return strings.TrimSpace(string(out))
	}
	return s
}

func (s *steps) hubGit(args ...string) string {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), "git", append([]string{"-C", s.path("hub/acme/shop")}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// A night by the shipped scripts: planned, run, recorded; a second report
// changes nothing, and the next plan knows what was answered. The shards call
// nobody, and the record makes no call of the API.
func TestNightlyRecordsAndPlansFromIt(t *testing.T) {
	s := newDesk(t)
	plan := func(job, age string) string {
		t.Helper()
		log, _, _ := s.does(scriptOf(t, "shards.yml", "plan", "assay plan"), job, "CONFIG=assay.yml", "VARIANTS_REF=", "VARIANTS_DIR=variants",
			"VARIANTS=", "INSTRUCTIONS=false", "AGENTS=", "MODELS=", "MAX_COST=", "SANDBOX=local", "MINUTES=60", "MAX_SHARDS=240", "HISTORY=", "KEY=nightly", "HISTORY_REMOTE=auto", "MAX_AGE="+age)
		return log
	}
	s.write("repo/assay.yml", "tasks: tasks\nagents: [oracle, nop]\nmax_cost_usd_month: 5\n")
	says(t, "the first plan", plan("plan", "20h"), "0 have an answer, 4 to run in 1 shards", "This month: $0.00 of $5.00 spent")
	s.carry("plan/planned.tgz", "run/plan/planned.tgz")
	s.does(scriptOf(t, "shards.yml", "run", "assay run"), "run", "VARIANTS_REF=", "VARIANTS_DIR=variants", "INSTRUCTIONS=false", "SHARD=1/1", "BUDGET=0")
	s.ok(errors.Join(os.MkdirAll(s.path("record/artifacts/head"), 0o755), pack(s.path("run/results"), s.path("record/artifacts/head/results.tgz"))))
	record := scriptOf(t, "record.yml", "history", "assay history push")
	for _, want := range []string{"4 trials added to assay as history/", "Nothing new"} {
		log, _, summary := s.does(record, "record", "KEY=nightly", "RUN=42")
		says(t, "the record's log", log, want)
		says(t, "the record's summary", summary, "1 run, the last 0 min ago of eeeeeeee", "| oracle / baseline | 2/2")
	}
	if n := s.hubGit("rev-list", "--count", "assay"); n != "1" {
		t.Errorf("%s commits", n)
	}
	says(t, "the branch", s.hubGit("ls-tree", "-r", "--name-only", "assay"), "/42-nightly.jsonl")
	says(t, "the second plan", plan("plan2", "20h"), "4 have an answer, 0 to run in 0 shards")
	says(t, "a plan for all", plan("plan3", ""), "0 have an answer, 4 to run")
	s.quietHub("a night")
}

// A label on an issue by the shipped scripts, from the gate to the score; and
// the tasks of a night as one pull request.
func TestLabelAndProposal(t *testing.T) {
	s := newDesk(t)
	s.repo.AddIssue(fake.Issue{Thread: fake.Thread{Number: 9, Labels: []string{"assay"}}})
	s.repo.Permissions["guest"] = "triage"
	gate := func(actor string) string {
		t.Helper()
		_, outputs, _ := s.does(scriptOf(t, "label.yml", "gate", "assay issue"), "gate", "ACTOR="+actor, "SHA="+strings.Repeat("e", 40), "NUMBER=9", "LABEL=assay", "EVENT=issues")
		return outputs
	}
	says(t, "a guest's gate", gate("guest"), "\nfalse\n")
	if n := len(s.repo.Issue(9).Comments); n != 0 {
		t.Errorf("%d comments for a guest", n)
	}
	says(t, "the gate", gate("octocat"), "\ntrue\n")
	s.proven("mined", "pull-7", 9)
	s.ok(errors.Join(os.MkdirAll(s.path("answer/artifact"), 0o755), pack(s.path("mined"), s.path("answer/artifact/mined.tgz"))))
	s.does(scriptOf(t, "label.yml", "answer", "assay issue"), "answer", "SHA="+strings.Repeat("e", 40), "NUMBER=9", "LABEL=assay")
	says(t, "the gate of the same label", gate("octocat"), "\nfalse\n")
	if c := s.repo.Issue(9).Comments; len(c) != 1 || !strings.Contains(c[0].Body, "Validated") {
		t.Errorf("%d comments: %+v", len(c), c)
	}
	s.hubGit("update-ref", "refs/heads/main", s.hubGit("commit-tree", "-m", "Start", s.hubGit("hash-object", "-t", "tree", "-w", "/dev/null")))
	s.ok(errors.Join(os.MkdirAll(s.path("propose/artifact"), 0o755), pack(s.path("mined"), s.path("propose/artifact/mined.tgz"))))
	for range 2 {
		_, _, summary := s.does(scriptOf(t, "mine.yml", "propose", "assay propose"), "propose", "TASKS=tasks")
		says(t, "the proposal", summary, "Pull request #10")
		s.ok(os.RemoveAll(s.path("propose/mined")))
	}
	if len(s.repo.Pulls) != 1 || s.repo.Pulls[0].Head != "assay-tasks" {
		t.Errorf("%d pull requests", len(s.repo.Pulls))
	}
}

// proven lays a proven task, and its candidate, into a folder as a night of
// mining leaves it.
func (s *steps) proven(dir, id string, issue int) {
	s.t.Helper()
	s.write(dir+"/tasks/"+id+"/task.json", fmt.Sprintf(`{"schema": 1, "id": %q, "title": "Mend", "tier": "mined", "prompt": "Mend it.",
		"source": {"kind": "pull", "number": 7, "commit": "c", "url": "https://github.example/acme/shop/pull/7", "issues": [%d]},
		"environment": {"image": "python:3.13-slim"}, "limits": {"timeout_sec": 60}, "validation": {"status": "valid"},
		"checks": [{"name": "c", "kind": "command", "command": ["sh", "{verify}/check.sh"]}]}`, id, issue))
	for name, text := range map[string]string{"verify/check.sh": "true\n", "workspace/a": "a\n", "solution/a": "b\n"} {
		s.write(dir+"/tasks/"+id+"/"+name, text)
	}
	s.write(dir+"/candidates.jsonl", fmt.Sprintf(`{"schema": 1, "id": %q, "repo": "acme/shop", "status": "built", "task": %q, "title": "Mend", "digest": "d",
		"source": {"kind": "pull", "number": 7, "commit": "c", "issues": [%d]}, "base": {"commit": "b", "rule": "parent"},
		"statement": {"origin": "issue", "title": "t", "body": "b", "clean": true}}`, id, id, issue))
	s.write(dir+"/candidates.jsonl", strings.ReplaceAll(read(s.t, s.path(dir+"/candidates.jsonl")), "\n\t\t", " ")+"\n")
}

// behind makes a git remote that git takes for the repository's address, for
// jobs that push.
func (s *stage) behind() {
	s.t.Helper()
	dir := filepath.Join(s.root, "remote", "acme", "shop")
	s.ok(os.MkdirAll(dir, 0o755))
	s.remote = func(args ...string) string {
		s.t.Helper()
		out, err := exec.CommandContext(s.t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		if err != nil {
			s.t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	s.remote("init", "--quiet", "--bare", ".")
	home := filepath.Join(s.root, "home")
	s.ok(writeFile(filepath.Join(home, ".gitconfig"), []byte(fmt.Sprintf("[url %q]\n\tinsteadOf = https://github.com/acme/shop\n", "file://"+dir))))
	s.env = append(s.env, "HOME="+home)
}

// A night by the generated workflow, with act: a score, and a history that the
// next night goes on from.
func TestWorkflowOfANight(t *testing.T) {
	s := newStage(t)
	git := s.remote
	s.repo.AddIssue(fake.Issue{Thread: fake.Thread{Number: 9, Labels: []string{"assay"}}})
	for _, want := range [][]string{{"0 have an answer, 4 to run", "4 trials added to assay as history/"}, {"4 have an answer, 0 to run", "Nothing new"}} {
		log := s.run("workflow_dispatch", "assay-nightly.yml", "{}")
		says(t, "the night", log, want...)
	}
	if n := git("rev-list", "--count", "assay"); n != "1" {
		t.Errorf("%s commits", n)
	}
	if checks, _ := s.posted(0); len(checks) != 1 || checks[0].Name != "nightly" {
		t.Errorf("check runs: %+v", checks)
	}
	if n := len(s.repo.Issue(9).Comments); n != 0 {
		t.Errorf("%d comments on an issue that nobody answered", n)
	}
}

// A label by the generated workflow: a guest's starts nothing, and a member's
// is answered though no work could be done.
func TestWorkflowOfALabel(t *testing.T) {
	s := newStage(t)
	s.file(".github/assay.yml", "tasks: ../tasks\nagents: [oracle]\nmine:\n  since: \"2020-01-01\"\n")
	s.commit("Mining")
	s.repo.AddIssue(fake.Issue{Thread: fake.Thread{Number: 9, Labels: []string{"assay", "bug"}}})
	event := func(label, sender string) string {
		return fmt.Sprintf(`{"action": "labeled", "label": {"name": %q}, "sender": {"login": %q}, "issue": {"number": 9}, "repository": {"default_branch": "main"}}`, label, sender)
	}
	comments := func() (out []string) {
		s.hub.Edit(func() {
			for _, c := range s.repo.Issue(9).Comments {
				out = append(out, c.Body)
			}
		})
		return out
	}
	// Row 21: three other labels of the same click.
	for _, label := range []string{"bug", "ui", "good first issue"} {
		s.run("issues", "assay-label.yml", event(label, "octocat"))
	}
	if rest, graphql := s.hub.Count(); rest+graphql != 0 {
		t.Errorf("%d calls for other labels", rest+graphql)
	}
	says(t, "a guest's label", s.run("issues", "assay-label.yml", event("assay", "guest")), "guest may not change the repository")
	if got := comments(); len(got) != 0 {
		t.Errorf("a guest made a comment: %q", got)
	}
	s.run("issues", "assay-label.yml", event("assay", "octocat"))
	if got := comments(); len(got) != 1 || !strings.Contains(got[0], "**Waiting.**") {
		t.Errorf("%d comments: %q", len(got), got)
	}
	says(t, "the same label again", s.run("issues", "assay-label.yml", event("assay", "octocat")), "answered already for this commit")
}
