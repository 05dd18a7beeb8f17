package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	fake "github.com/assaybot/assay/internal/testkit/github"
	"github.com/assaybot/assay/internal/testkit/repo"
)

// stage is a repository with the workflows of this one, run by act on this
// machine, with Actions of our own in place of GitHub's and a GitHub of its
// own to post to.
type stage struct {
	t     *testing.T
	dir   string
	store string
	hub   *fake.Server
	repo  *fake.Repo
	git   *repo.Repo
}

func newStage(t *testing.T) *stage {
	t.Helper()
	if !has(t, "act", "act") {
		t.Skip("act isn't on PATH")
	}
	if !dockerAnswers(t) {
		t.Skip("no Docker engine answers")
	}
	root := t.TempDir()
	s := &stage{t: t, dir: filepath.Join(root, "repo"), store: filepath.Join(root, "store"), hub: fake.New(t)}
	s.repo = s.hub.Add("acme/shop")
	for _, d := range []string{s.store, filepath.Join(root, "home")} {
		s.ok(os.MkdirAll(d, 0o755))
	}
	s.ok(unpack(suiteFile, filepath.Join(s.dir, "tasks")))
	s.git = repo.New(t.Context(), s.dir, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	s.git.Git("remote", "add", "origin", "https://github.com/acme/shop.git")
	s.workflows()
	s.file(".github/assay.yml", "tasks: ../tasks\nvariants_dir: ../variants\nvariants: [\"*\"]\nagents: [oracle, nop]\n")
	s.commit("Start")
	return s
}

func (s *stage) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) file(name, text string) {
	s.t.Helper()
	s.ok(writeFile(filepath.Join(s.dir, name), []byte(text)))
}

func (s *stage) commit(message string) string {
	s.t.Helper()
	id := s.git.Commit("Dana Dev <dana@example.com>", message, nil)
	s.ok(s.git.Err())
	return id
}

// workflows are this repository's own, and a caller as init writes it.
func (s *stage) workflows() {
	s.t.Helper()
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	s.ok(err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		s.ok(err)
		if filepath.Base(f) != "ci.yml" {
			s.file(".github/workflows/"+filepath.Base(f), string(text))
		}
	}
	caller, err := os.ReadFile("../../internal/scaffold/templates/pull-request.yml")
	s.ok(err)
	text := regexp.MustCompile(`\[\[template[^\]]*\]\]`).ReplaceAllString(string(caller), "")
	text = strings.NewReplacer("[[.Repository]]/.github", "./.github", "@[[.SHA]]", "", "[[.SHA]]", strings.Repeat("0a", 20),
		"[[.Repository]]", "assaybot/assay", "[[.Version]]", "v0").Replace(text)
	s.file(".github/workflows/caller.yml", text)
}

// run starts a workflow by an event and returns its log.
func (s *stage) run(event, workflow, payload string) string {
	s.t.Helper()
	assay, err := filepath.Abs("../..")
	s.ok(err)
	args := []string{event, "-W", ".github/workflows/" + workflow, "-P", "ubuntu-24.04=-self-hosted", "--no-skip-checkout", "--pull=false", "-s", "GITHUB_TOKEN=" + fake.LongToken}
	if payload != "" {
		name := filepath.Join(s.t.TempDir(), "event.json")
		s.ok(writeFile(name, []byte(payload)))
		args = append(args, "-e", name)
	}
	shards, err := os.ReadFile("../../.github/workflows/shards.yml")
	s.ok(err)
	action, err := os.ReadFile("../../action.yml")
	s.ok(err)
	for _, m := range regexp.MustCompile(`actions/([a-z-]+)@[0-9a-f]{40}`).FindAllSubmatch(append(shards, action...), -1) {
		args = append(args, "--local-repository", fmt.Sprintf("%s=%s", m[0], filepath.Join(assay, "cmd/assay/testdata/actions", string(m[1]))))
	}
	for name, value := range map[string]string{
		"E2E_STORE": s.store, "E2E_REPO": s.dir, "E2E_ASSAY": assay, "E2E_PROGRAM": release(s.t),
		"GITHUB_API_URL": s.hub.URL + "/api/v3", "GITHUB_GRAPHQL_URL": s.hub.URL + "/api/graphql",
	} {
		args = append(args, "--env", name+"="+value)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "act", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(filepath.Dir(s.dir), "home"), "XDG_CACHE_HOME="+filepath.Join(filepath.Dir(s.dir), "home"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", workflow, err, out)
	}
	return string(out)
}

// A pull request that adds a variant, by the shipped workflows from plan to
// comment: its configuration isn't read, the base's results are taken over,
// and a second run edits what the first posted.
func TestWorkflowOfAPullRequest(t *testing.T) {
	s := newStage(t)
	base := s.git.Git("rev-parse", "HEAD")
	s.git.Git("checkout", "--quiet", "-b", "change")
	s.file("variants/terse/variant.json", `{"schema": 1, "name": "terse", "append_system_prompt_file": "system.md"}`)
	s.file("variants/terse/system.md", "Be terse.\n")
	s.file(".github/assay.yml", "this: is not read\n")
	head := s.commit("A variant")
	s.git.Git("checkout", "--quiet", "main")
	s.ok(s.git.Err())
	number := s.repo.AddPull(fake.Pull{Thread: fake.Thread{Author: fake.User("dana")}, HeadSHA: head}).Number
	event := func(full, login string) string {
		return fmt.Sprintf(`{"pull_request": {"number": %d, "state": "open", "user": {"login": %q}, "base": {"sha": %q},
			"head": {"sha": %q, "repo": {"full_name": %q}}}}`, number, login, base, head, full)
	}
	// Rows 10 and 13: a fork's and Dependabot's are told so, and nothing runs.
	for _, outside := range []string{event("mallory/shop", "mallory"), event("acme/shop", "dependabot[bot]")} {
		if log := s.run("pull_request", "caller.yml", outside); !strings.Contains(log, "Not evaluated") {
			t.Errorf("not told:\n%s", log)
		}
	}
	if left, _ := os.ReadDir(s.store); len(left) > 0 {
		t.Fatalf("something ran for a fork: %v", left)
	}
	for range 2 {
		log := s.run("pull_request", "caller.yml", event("acme/shop", "dana"))
		for _, text := range []string{"8/8 ran", "no difference to the base is proven"} {
			if !strings.Contains(log, text) {
				t.Errorf("the log doesn't say %q:\n%s", text, log)
			}
		}
	}
	s.hub.Edit(func() {
		comments := s.repo.Pull(number).Comments
		if len(comments) != 1 || !strings.Contains(comments[0].Body, "terse") {
			t.Errorf("%d comments: %v", len(comments), comments)
		}
		if len(s.repo.Checks) != 1 || s.repo.Checks[0].SHA != head || s.repo.Checks[0].Conclusion != "neutral" {
			t.Errorf("check runs: %+v", s.repo.Checks)
		}
	})
	log, err := os.ReadFile(filepath.Join(s.store, "log"))
	s.ok(err)
	for _, line := range strings.Split(string(log), "\n") {
		if strings.Contains(line, "ref="+head) && !strings.HasSuffix(line, "sparse=variants") {
			t.Errorf("more of the head than its variants was checked out: %s", line)
		}
	}
}
