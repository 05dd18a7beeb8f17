package main

import (
	"context"
	"os"
	"strings"

	"github.com/assaybot/assay/internal/flow"
	"github.com/assaybot/assay/internal/github"
	"github.com/assaybot/assay/internal/publish"
)

// step is what a workflow's runner tells its steps, by the names that it uses.
func step() flow.GitHub {
	g := flow.GitHub{
		Repo: os.Getenv("GITHUB_REPOSITORY"), SHA: os.Getenv("GITHUB_SHA"), Event: os.Getenv("GITHUB_EVENT_PATH"),
		Summary: os.Getenv("GITHUB_STEP_SUMMARY"), Output: os.Getenv("GITHUB_OUTPUT"),
		Actions: os.Getenv("GITHUB_ACTIONS") == "true",
	}
	server, run := os.Getenv("GITHUB_SERVER_URL"), os.Getenv("GITHUB_RUN_ID")
	if server != "" && run != "" && g.Repo != "" {
		g.Run = strings.TrimSuffix(server, "/") + "/" + g.Repo + "/actions/runs/" + run
	}
	if server != "" && g.Repo != "" {
		g.Remote = strings.TrimSuffix(server, "/") + "/" + g.Repo
	}
	if token := os.Getenv("GITHUB_TOKEN"); token != "" {
		g.Open = func(repo string) (publish.Target, error) { return target(token, repo) }
		g.Desk = func(repo string) (publish.Desk, error) { return target(token, repo) }
	}
	return g
}

func target(token, name string) (publish.Desk, error) {
	host, err := github.HostOf(os.Getenv("GITHUB_API_URL"), os.Getenv("GITHUB_GRAPHQL_URL"), os.Getenv("GITHUB_SERVER_URL"))
	if err != nil {
		return nil, err
	}
	repo, _, err := github.ParseRepo(name)
	if err != nil {
		return nil, err
	}
	t := github.NewTransport(github.Options{
		Host: host, UserAgent: "assay/" + version(),
		Token: func(context.Context) (string, error) { return token, nil },
	})
	c, err := github.NewClient(t, repo)
	if err != nil {
		return nil, err
	}
	return github.NewTarget(c), nil
}
