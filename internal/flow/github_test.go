package flow

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaybot/assay/internal/publish"
)

func TestSubjectOfAnEvent(t *testing.T) {
	tests := []struct {
		name, event string
		number      int
		sha         string
		head        publish.Head
	}{
		{"a push", `{"ref": "refs/heads/main", "after": "x"}`, 0, "of-the-runner", publish.Head{}},
		// GITHUB_SHA is the merge then, which is nobody's commit.
		{"a pull request", `{"number": 7, "pull_request": {"number": 7, "head": {"sha": "HEAD"}}}`, 7, "head", publish.Head{}},
		{"a comment on a pull request", `{"issue": {"number": 7, "pull_request": {"url": "x"}}}`, 7, "", publish.Head{}},
		{"a comment on an issue", `{"issue": {"number": 7}}`, 0, "of-the-runner", publish.Head{}},
		{"row 14: a fork's workflow run", `{"workflow_run": {"head_sha": "run", "head_branch": "topic", "head_repository": {"full_name": "ann/shop"}, "pull_requests": []}}`, 0, "run",
			publish.Head{Repo: "ann/shop", Branch: "topic", SHA: "run"}},
		{"a workflow run", `{"workflow_run": {"head_sha": "run", "pull_requests": [{"number": 7}]}}`, 7, "run", publish.Head{}},
		{"a schedule", `{}`, 0, "of-the-runner", publish.Head{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "event.json")
			if err := os.WriteFile(file, []byte(tt.event), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := GitHub{Event: file, SHA: "of-the-runner"}.subject()
			if got.Number != tt.number || got.SHA != tt.sha || got.Head != tt.head || err != nil {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	if _, err := (GitHub{Event: filepath.Join(t.TempDir(), "none"), SHA: "x"}).subject(); err != nil {
		t.Errorf("a missing event is no fault: %v", err)
	}
}

// The commit of the event isn't that of a pull request that a person names.
func TestAnotherPullRequestHasNoCommitYet(t *testing.T) {
	f := &Flow{GitHub: GitHub{Repo: "acme/shop", SHA: "abc"}}
	req := PublishRequest{Number: 9}
	if err := f.locate(&req); err != nil || req.SHA != "" || req.Repo != "acme/shop" {
		t.Errorf("%+v, %v", req, err)
	}
	req = PublishRequest{}
	if err := f.locate(&req); err != nil || req.SHA != "abc" {
		t.Errorf("%+v, %v", req, err)
	}
}

func TestRow54AMissingTokenSaysWhatToWrite(t *testing.T) {
	p, err := new(Flow).post(t.Context(), PublishRequest{Check: true, Repo: "acme/shop"}, publish.Docs{})
	if err != nil || !p.Refused || !strings.Contains(p.Notes[0], "env:\n    GITHUB_TOKEN: ${{ github.token }}") {
		t.Errorf("%+v, %v", p, err)
	}
}
