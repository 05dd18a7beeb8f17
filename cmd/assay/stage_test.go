package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	fake "github.com/assaybot/assay/internal/testkit/github"
	"github.com/assaybot/assay/internal/testkit/repo"
)

// stagePin is the commit of assay that the workflows of a stage call.
const stagePin = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"

// stage is a repository that 'assay init' set up, with the workflows of this
// one, run by act on this machine, with Actions of our own in place of
// GitHub's and a GitHub of its own to post to.
type stage struct {
	t       *testing.T
	root    string
	dir     string // the repository
	store   string // what the Actions keep: artifacts, and a log
	hub     *fake.Server
	repo    *fake.Repo
	git     *repo.Repo
	remote  func(args ...string) string // git in the repository that jobs push to
	env     []string                    // of all steps
	secrets []string

	mu        sync.Mutex
	callsSeen []string // artifacts at the first call to GitHub
}

// emptyStage has a folder for a repository and nothing in it.
func emptyStage(t *testing.T) *stage {
	t.Helper()
	_, err := exec.LookPath("act")
	need(t, "act", err == nil, "act isn't on PATH")
	needDocker(t)
	root := t.TempDir()
	s := &stage{t: t, root: root, dir: filepath.Join(root, "repo"), store: filepath.Join(root, "store"), hub: fake.New(t)}
	s.repo = s.hub.Add("acme/shop")
	for _, d := range []string{s.store, filepath.Join(root, "home")} {
		s.ok(os.MkdirAll(d, 0o755))
	}
	s.secrets = []string{"GITHUB_TOKEN=" + fake.LongToken}
	s.behind()
	s.hub.Watch(func(fake.Exchange) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.callsSeen == nil {
			s.callsSeen = s.artifacts()
		}
	})
	return s
}

// newStage has a repository with the small suite.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := emptyStage(t)
	s.ok(unpack(suiteFile, filepath.Join(s.dir, "tasks")))
	s.git = repo.New(t.Context(), s.dir, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	s.setUp()
	s.beside()
	s.configure("[oracle, nop]")
	s.commit("Start")
	return s
}

// configure writes the configuration that stands in the repository.
func (s *stage) configure(agents string) {
	s.t.Helper()
	s.file(".github/assay.yml", "tasks: ../tasks\nvariants_dir: ../variants\nvariants: [\"*\"]\nagents: "+agents+"\n")
}

// setUp types 'assay init' in the repository and returns what it said.
func (s *stage) setUp() string {
	s.t.Helper()
	s.git.Git("remote", "add", "origin", "https://github.com/acme/shop.git")
	s.ok(s.git.Err())
	cmd := exec.CommandContext(s.t.Context(), release(s.t), "init", "--write", "--pin", stagePin, "--pin-version", "v0.1.0")
	cmd.Dir, cmd.Env = s.dir, cleanEnv(s.root)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("init: %v\n%s", err, out)
	}
	return string(out)
}

// shippedWorkflows are those that callers, or each other, call.
func shippedWorkflows() []string {
	return []string{"evaluate", "shards", "pull-request", "nightly", "record", "label", "mine"}
}

// beside puts the shipped workflows into the repository. act looks there for
// those that a called workflow calls; GitHub looks in the called one's.
func (s *stage) beside() {
	s.t.Helper()
	for _, name := range shippedWorkflows() {
		s.file(".github/workflows/"+name+".yml", read(s.t, "../../.github/workflows/"+name+".yml"))
	}
}

// inShards asks a caller for shards of few minutes, so that there are some.
func (s *stage) inShards(caller string) {
	s.t.Helper()
	name := ".github/workflows/" + caller
	s.file(name, strings.Replace(read(s.t, filepath.Join(s.dir, name)), "    with:\n", "    with:\n      minutes: \"3\"\n", 1))
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

var pinnedAction = regexp.MustCompile(`actions/([a-z-]+)@[0-9a-f]{40}`)

// run starts a workflow by an event and returns its log; the workflow has to
// end well.
func (s *stage) run(event, workflow, payload string) string {
	s.t.Helper()
	assay, err := filepath.Abs("../..")
	s.ok(err)
	name := filepath.Join(s.t.TempDir(), "event.json")
	s.ok(writeFile(name, []byte(payload)))
	args := []string{event, "-W", ".github/workflows/" + workflow, "-e", name, "-P", "ubuntu-24.04=-self-hosted", "--no-skip-checkout", "--pull=false",
		"--local-repository", "assaybot/assay@" + stagePin + "=" + assay}
	texts := read(s.t, filepath.Join(assay, "action.yml"))
	for _, w := range shippedWorkflows() {
		texts += read(s.t, filepath.Join(assay, ".github/workflows", w+".yml"))
	}
	for _, m := range pinnedAction.FindAllStringSubmatch(texts, -1) {
		args = append(args, "--local-repository", m[0]+"="+filepath.Join(assay, "cmd/assay/testdata/actions", m[1]))
	}
	for _, value := range append([]string{
		"E2E_STORE=" + s.store, "E2E_REPO=" + s.dir, "E2E_ASSAY=" + assay, "E2E_PROGRAM=" + release(s.t),
		"GITHUB_API_URL=" + s.hub.URL + "/api/v3", "GITHUB_GRAPHQL_URL=" + s.hub.URL + "/api/graphql",
	}, s.env...) {
		args = append(args, "--env", value)
	}
	for _, secret := range s.secrets {
		args = append(args, "-s", secret)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "act", args...)
	home := filepath.Join(s.root, "home")
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.dir, append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home), 10*time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", workflow, err, out)
	}
	return string(out)
}

// artifacts are the names of what was uploaded so far.
func (s *stage) artifacts() []string {
	names := []string{}
	list, _ := os.ReadDir(filepath.Join(s.store, "artifacts")) // none is none
	for _, d := range list {
		names = append(names, d.Name())
	}
	return names
}

// posted is what stands on GitHub: the check runs, and the comments of a pull
// request (0 for none).
func (s *stage) posted(number int) (checks []fake.CheckRun, comments []fake.Comment) {
	s.hub.Edit(func() {
		for _, c := range s.repo.Checks {
			checks = append(checks, *c)
		}
		if number == 0 {
			return
		}
		for _, c := range s.repo.Pull(number).Comments {
			comments = append(comments, *c)
		}
	})
	return checks, comments
}

// onlyTheReportCalls checks that nothing called GitHub before an artifact with
// all results was there, which is when the report starts, and that there were
// few calls; a shard, the plan and the merge make none.
func (s *stage) onlyTheReportCalls(results string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.callsSeen, results) {
		s.t.Errorf("GitHub was called when only %v were there", s.callsSeen)
	}
	if rest, graphql := s.hub.Count(); rest+graphql == 0 || rest+graphql > 15 {
		s.t.Errorf("%d calls of REST and %d of GraphQL; at most 15 are fine", rest, graphql)
	}
	s.callsSeen = nil
	s.hub.Forget()
}

// says checks that a text holds parts.
func says(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s doesn't say %q:\n%s", what, part, text)
		}
	}
}

// pullEvent is the event of a pull request that somebody opened from a
// repository.
func pullEvent(number int, base, head, from, login string) string {
	return fmt.Sprintf(`{"pull_request": {"number": %d, "state": "open", "user": {"login": %q}, "base": {"sha": %q},
		"head": {"sha": %q, "repo": {"full_name": %q}}}}`, number, login, base, head, from)
}
