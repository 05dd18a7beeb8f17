package flow

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSubjectOfAnEvent(t *testing.T) {
	tests := []struct {
		name, event string
		number      int
		sha         string
	}{
		{"a push", `{"ref": "refs/heads/main", "after": "x"}`, 0, "of-the-runner"},
		// GITHUB_SHA is the merge then, which is nobody's commit.
		{"a pull request", `{"number": 7, "pull_request": {"number": 7, "head": {"sha": "HEAD"}}}`, 7, "head"},
		{"a comment on a pull request", `{"issue": {"number": 7, "pull_request": {"url": "x"}}}`, 7, ""},
		{"a comment on an issue", `{"issue": {"number": 7}}`, 0, "of-the-runner"},
		{"row 14: a fork's workflow run", `{"workflow_run": {"head_sha": "run", "pull_requests": []}}`, 0, "run"},
		{"a workflow run", `{"workflow_run": {"head_sha": "run", "pull_requests": [{"number": 7}]}}`, 7, "run"},
		{"a schedule", `{}`, 0, "of-the-runner"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "event.json")
			if err := os.WriteFile(file, []byte(tt.event), 0o600); err != nil {
				t.Fatal(err)
			}
			number, sha, err := GitHub{Event: file, SHA: "of-the-runner"}.subject()
			if number != tt.number || sha != tt.sha || err != nil {
				t.Errorf("got #%d at %q, %v", number, sha, err)
			}
		})
	}
	if _, _, err := (GitHub{Event: filepath.Join(t.TempDir(), "none"), SHA: "x"}).subject(); err != nil {
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
