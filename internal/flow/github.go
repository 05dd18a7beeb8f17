package flow

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/publish"
)

// GitHub is what a workflow's step knows of its surroundings; the zero value
// is a machine that knows nothing. Event, Summary and Output are files.
type GitHub struct {
	Repo, SHA, Event, Summary, Output string
	// Run is the web address of the workflow run.
	Run string
	// Remote is the address of Repo for git.
	Remote string
	// Actions is true in a step of a workflow, whose log takes commands.
	Actions bool
	// Open is the repository as a target to post to; nil without a token.
	Open func(repo string) (publish.Target, error)
	// Desk is the same with what proposing and answering need; nil without a
	// token.
	Desk func(repo string) (publish.Desk, error)
}

// event is what is read of a workflow's event.
type event struct {
	PullRequest *struct {
		Number int
		Head   struct{ SHA string }
	} `json:"pull_request"`
	Issue *struct {
		Number      int
		PullRequest *struct{} `json:"pull_request"`
	}
	WorkflowRun *struct {
		HeadSHA        string `json:"head_sha"`
		HeadBranch     string `json:"head_branch"`
		HeadRepository struct {
			FullName string `json:"full_name"`
		} `json:"head_repository"`
		PullRequests []struct{ Number int } `json:"pull_requests"`
	} `json:"workflow_run"`
}

// subject is what an event is about; zero values are unknown.
type subject struct {
	Number int
	SHA    string
	// Head is where a run comes from that names no pull request.
	Head publish.Head
}

// maxEvent bounds an event's file: GitHub sends no payload above 25 MB.
const maxEvent = 32 << 20

// subject is the pull request and the commit of the event: a pull request's
// own head and not the merge that GITHUB_SHA names.
func (g GitHub) subject() (subject, error) {
	if g.Event == "" {
		return subject{SHA: g.SHA}, nil
	}
	info, err := os.Stat(g.Event)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return subject{SHA: g.SHA}, nil
	case err != nil:
		return subject{}, err
	case info.Size() > maxEvent:
		return subject{}, assay.Userf("the event's file %s is too large", g.Event)
	}
	data, err := os.ReadFile(g.Event)
	if err != nil {
		return subject{}, err
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return subject{}, assay.Userf("the event's file %s is no JSON: %v", g.Event, err)
	}
	return e.subject(g.SHA), nil
}

func (e event) subject(sha string) subject {
	run := e.WorkflowRun
	switch {
	case e.PullRequest != nil:
		return subject{Number: e.PullRequest.Number, SHA: strings.ToLower(e.PullRequest.Head.SHA)}
	case run != nil && len(run.PullRequests) > 0:
		return subject{Number: run.PullRequests[0].Number, SHA: run.HeadSHA}
	case run != nil:
		return subject{SHA: run.HeadSHA, Head: publish.Head{Repo: run.HeadRepository.FullName, Branch: run.HeadBranch, SHA: run.HeadSHA}}
	case e.Issue != nil && e.Issue.PullRequest != nil:
		// The default branch's commit was not what was scored.
		return subject{Number: e.Issue.Number}
	}
	return subject{SHA: sha}
}
