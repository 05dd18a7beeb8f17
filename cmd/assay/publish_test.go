package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	fake "github.com/assaybot/assay/internal/testkit/github"
)

// TestPublishScripts runs testdata/github: the program in a workflow's step,
// against a GitHub of its own.
func TestPublishScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/github", RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			if err := prepareScript(e); err != nil {
				return err
			}
			return prepareGitHub(e)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit": exitWith, "posted": posted, "scopes": scopes,
		},
	})
}

type hubKey struct{}

// hub is a script's GitHub and the one repository on it.
type hub struct {
	*fake.Server
	repo *fake.Repo
}

// prepareGitHub starts the server and sets what a runner sets.
func prepareGitHub(e *testscript.Env) error {
	s := fake.New(nil)
	e.Defer(s.Close)
	repo := s.Add("acme/shop")
	e.Values[hubKey{}] = hub{s, repo}
	pull := repo.AddPull(fake.Pull{Thread: fake.Thread{Author: fake.User("ann")}})
	event := fmt.Sprintf(`{"number": %d, "pull_request": {"number": %d, "head": {"sha": %q}}}`, pull.Number, pull.Number, pull.HeadSHA)
	for name, value := range map[string]string{
		"GITHUB_API_URL": s.URL + "/api/v3", "GITHUB_GRAPHQL_URL": s.URL + "/api/graphql", "GITHUB_SERVER_URL": "https://github.example",
		"GITHUB_TOKEN": fake.LongToken, "GITHUB_REPOSITORY": "acme/shop", "GITHUB_SHA": strings.Repeat("e", 40), "GITHUB_RUN_ID": "42",
		"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": filepath.Join(e.WorkDir, "event.json"),
		"GITHUB_STEP_SUMMARY": filepath.Join(e.WorkDir, "summary.md"), "GITHUB_OUTPUT": filepath.Join(e.WorkDir, "output"),
	} {
		e.Setenv(name, value)
	}
	return os.WriteFile(filepath.Join(e.WorkDir, "event.json"), []byte(event), 0o600)
}

// posted counts: posted comments N, posted checks N, posted annotations N; or
// posted says TEXT: the comment that stands holds it.
func posted(ts *testscript.TestScript, neg bool, args []string) {
	s, ok := ts.Value(hubKey{}).(hub)
	if !ok || neg || len(args) != 2 {
		ts.Fatalf("usage: posted comments|checks|annotations|says VALUE")
	}
	s.Edit(func() {
		r := s.repo
		comments := r.Pull(1).Comments
		got := map[string]int{"comments": len(comments), "checks": len(r.Checks)}
		for _, k := range r.Checks {
			got["annotations"] += len(k.Annotations)
			if k.SHA != r.Pull(1).HeadSHA {
				ts.Fatalf("a check run is on %s, not on the pull request's head", k.SHA)
			}
		}
		switch {
		case args[0] == "says":
			if len(comments) == 0 || !strings.Contains(comments[0].Body, args[1]) {
				ts.Fatalf("no comment says %q", args[1])
			}
		case fmt.Sprint(got[args[0]]) != args[1]:
			ts.Fatalf("%d %s, want %s", got[args[0]], args[0], args[1])
		}
	})
}

// scopes gives the token permissions: scopes checks=write contents=read.
func scopes(ts *testscript.TestScript, _ bool, args []string) {
	s, ok := ts.Value(hubKey{}).(hub)
	if !ok {
		ts.Fatalf("there is no server")
	}
	t := fake.Token{Login: fake.AppLogin, Scopes: map[string]string{}}
	for _, a := range args {
		name, level, _ := strings.Cut(a, "=")
		t.Scopes[name] = level
	}
	s.Edit(func() { s.Tokens[fake.LongToken] = t })
}
