package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	fake "github.com/assaybot/assay/internal/testkit/github"
	"github.com/assaybot/assay/internal/testkit/model"
)

// A pull request that adds a variant, by the shipped workflows from plan to
// comment: its configuration isn't read, the base's results are taken over,
// and a second run edits what the first posted.
func TestWorkflowOfAPullRequest(t *testing.T) {
	s := newStage(t)
	s.inShards("assay-pull-request.yml")
	base := s.commit("Smaller shards")
	s.git.Git("checkout", "--quiet", "-b", "change")
	s.file("variants/terse/variant.json", `{"schema": 1, "name": "terse", "append_system_prompt_file": "system.md"}`)
	s.file("variants/terse/system.md", "Be terse.\n")
	s.file(".github/assay.yml", "this: is not read\n")
	head := s.commit("A variant")
	s.git.Git("checkout", "--quiet", "main")
	s.ok(s.git.Err())
	number := s.repo.AddPull(fake.Pull{Thread: fake.Thread{Author: fake.User("dana")}, HeadSHA: head}).Number

	// Rows 10, 13 and 20: a fork's and Dependabot's are told so, nothing runs,
	// and the workflow is green.
	for _, outside := range []string{pullEvent(number, base, head, "mallory/shop", "mallory"), pullEvent(number, base, head, "acme/shop", "dependabot[bot]")} {
		says(t, "the log", s.run("pull_request", "assay-pull-request.yml", outside), "Not evaluated")
	}
	if left, _ := os.ReadDir(s.store); len(left) > 0 {
		t.Fatalf("something ran for a fork: %v", left)
	}

	var first fake.CheckRun
	var comment fake.Comment
	for round := range 2 {
		log := s.run("pull_request", "assay-pull-request.yml", pullEvent(number, base, head, "acme/shop", "dana"))
		says(t, "the log", log, "8/8 ran", "no difference to the base is proven")
		s.onlyTheReportCalls("head-results")
		checks, comments := s.posted(number)
		if len(checks) != 1 || len(comments) != 1 {
			t.Fatalf("round %d: %d check runs, %d comments", round, len(checks), len(comments))
		}
		if c := checks[0]; c.SHA != head || c.Conclusion != "neutral" || c.Status != "completed" {
			t.Errorf("round %d: the check run is %s, %s on %s", round, c.Status, c.Conclusion, c.SHA)
		}
		says(t, "the comment", comments[0].Body, "oracle / terse | 2/2", "nop / terse | 0/2", "is in head only, not in base", head[:7])
		says(t, "the check run's title", checks[0].Title, "~ nothing proven: 2/4 resolved, was 2/4")
		if round == 0 {
			first, comment = checks[0], comments[0]
		} else if checks[0].ID != first.ID || comments[0].ID != comment.ID {
			t.Errorf("check run %d, then %d; comment %d, then %d", first.ID, checks[0].ID, comment.ID, comments[0].ID)
		}
	}
	log := read(t, filepath.Join(s.store, "log"))
	for _, line := range strings.Split(log, "\n") {
		if strings.Contains(line, "ref="+head) && !strings.HasSuffix(line, "sparse=variants .claude .codex .gemini .opencode") {
			t.Errorf("more of the head than its variants was checked out: %s", line)
		}
	}
}

// Four agents by the generated workflow: plan, a matrix of shards, containers,
// one report; and once more: the check run is edited.
func TestWorkflowOfAnEvaluation(t *testing.T) {
	s := newStage(t)
	server := model.New(t, counts())
	s.env = append(s.env, "ANTHROPIC_BASE_URL="+server.URL, "ASSAY_CACHE="+filepath.Join(s.root, "cache"))
	s.secrets = append(s.secrets, "ANTHROPIC_API_KEY="+realKey)
	agents := "[oracle, nop, {name: command, command: [sh, -c, 'cat >/dev/null; echo hello >hello.txt']}"
	// With one agent fewer the two tasks differ too much for a rate to be proven.
	trials, resolved, shards, conclusion := 6, 3, "2", "neutral"
	if claude := claudeProgram(t); claude != "" {
		linkKit(t, claude, filepath.Join(s.root, "cache"))
		agents += ", claude-code]\nmodels: [claude-sonnet-4-5"
		trials, resolved, shards, conclusion = 8, 4, "3", "success"
	}
	s.configure(agents + "]\nvariants: [baseline]")
	s.file(".github/assay.yml", strings.Replace(read(t, filepath.Join(s.dir, ".github/assay.yml")), "variants: [\"*\"]\n", "", 1))
	s.inShards("assay-evaluate.yml")
	head := s.commit("Agents")
	var id int64
	for round := range 2 {
		log := s.run("workflow_dispatch", "assay-evaluate.yml", `{"inputs": {"fail-on": "resolve-rate<0.05"}}`)
		s.onlyTheReportCalls("assay-results")
		checks, _ := s.posted(0)
		if len(checks) != 1 {
			t.Fatalf("round %d: %d check runs\n%s", round, len(checks), log)
		}
		c := checks[0]
		if c.SHA != head || c.Conclusion != conclusion || (round > 0 && c.ID != id) {
			t.Errorf("round %d: check run %d (was %d) is %s on %s", round, c.ID, id, c.Conclusion, c.SHA)
		}
		id = c.ID
		says(t, "the title", c.Title, fmt.Sprintf("%d/%d", resolved, trials))
		says(t, "the text", c.Text, "| oracle", "| 2/2", "| nop", "| 0/2", "| command", "| 1/2")
		if trials == 8 {
			says(t, "the text", c.Text, "| claude-code / claude-sonnet-4-5", "| 1/2")
		}
		for _, name := range []string{"assay-plan", "assay-shard-001-of-00" + shards, "assay-shard-00" + shards + "-of-00" + shards} {
			if !slices.Contains(s.artifacts(), name) {
				t.Errorf("there are only the artifacts %v", s.artifacts())
			}
		}
		if strings.Contains(log, realKey) {
			t.Error("the key is in the log")
		}
	}
	for _, r := range server.Requests() {
		if r.Header.Get("X-Api-Key") != realKey {
			t.Errorf("the model's server got the key %q", r.Header.Get("X-Api-Key"))
		}
	}
}

// counts is a model that solves the task of the numbers and no other.
func counts() model.Script {
	solves := model.Replies(model.Bash(`printf '1\n2\n3\n' >numbers.txt`), model.Text("Written."))
	gives := model.Replies(model.Text("I don't know how."))
	return func(req model.Request, n int) model.Reply {
		if strings.Contains(string(req.Raw), "numbers.txt") {
			return solves(req, n)
		}
		return gives(req, n)
	}
}

// A pull request that changes AGENTS.md: both sides are measured on the same
// tasks, and what got worse is told. The agent here does what it is told.
func TestWorkflowOfAChangeOfInstructions(t *testing.T) {
	s := newStage(t)
	s.configure("[{name: command, command: [sh, -c, 'cat >/dev/null; sh AGENTS.md']}]")
	s.file("AGENTS.md", "echo hello >hello.txt; printf '1\\n2\\n3\\n' >numbers.txt\n")
	s.ok(os.Symlink("AGENTS.md", filepath.Join(s.dir, "CLAUDE.md")))
	base := s.commit("What agents are told")
	s.git.Git("checkout", "--quiet", "-b", "change")
	s.file("AGENTS.md", "echo hello >hello.txt\n")
	s.file(".claude/settings.json", "{}\n")
	head := s.commit("Other words")
	s.git.Git("checkout", "--quiet", "main")
	s.ok(s.git.Err())
	number := s.repo.AddPull(fake.Pull{Thread: fake.Thread{Author: fake.User("dana")}, HeadSHA: head}).Number
	s.run("pull_request", "assay-pull-request.yml", pullEvent(number, base, head, "acme/shop", "dana"))
	checks, comments := s.posted(number)
	if len(checks) != 1 || len(comments) != 1 {
		t.Fatalf("%d check runs, %d comments", len(checks), len(comments))
	}
	says(t, "the title", checks[0].Title, "1/2 resolved, was 2/2")
	says(t, "the comment", comments[0].Body, "count", "instructions")
	s.onlyTheReportCalls("head-results")
}
