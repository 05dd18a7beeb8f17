package github

import (
	"context"
	"fmt"

	gh "github.com/google/go-github/v66/github"
)

// Proposal is a pull request as its writer sees it. Head and Base are
// branches, HeadSHA the commit of the first.
type Proposal struct {
	Number       int
	Title, Body  string
	Head, Base   string
	HeadSHA      string
	Author       string
	URL          string
	Open, Merged bool
}

func proposalOf(p *gh.PullRequest) Proposal {
	return Proposal{Number: p.GetNumber(), Title: p.GetTitle(), Body: p.GetBody(), Head: p.GetHead().GetRef(), Base: p.GetBase().GetRef(),
		HeadSHA: p.GetHead().GetSHA(), Author: p.GetUser().GetLogin(), URL: p.GetHTMLURL(), Open: p.GetState() == "open", Merged: p.MergedAt != nil}
}

// PullsFrom are the pull requests of a branch of the repository itself,
// whatever their state, newest first, all pages.
func (c *Client) PullsFrom(ctx context.Context, branch string) ([]Proposal, error) {
	var out []Proposal
	o := &gh.PullRequestListOptions{State: "all", Head: c.repo.Owner + ":" + branch, Sort: "created", Direction: "desc", ListOptions: gh.ListOptions{PerPage: 100}}
	for {
		page, resp, err := c.gh.PullRequests.List(ctx, c.repo.Owner, c.repo.Name, o)
		if err != nil {
			return nil, c.failed("reading the pull requests of "+branch, err)
		}
		for _, p := range page {
			// A server that doesn't know the filter tells all of them.
			if p.GetHead().GetRef() == branch && p.GetHead().GetRepo().GetID() == p.GetBase().GetRepo().GetID() {
				out = append(out, proposalOf(p))
			}
		}
		if resp.NextPage <= o.Page {
			return out, nil
		}
		o.Page = resp.NextPage
	}
}

// CreatePull makes a pull request from p.Head into p.Base. An UncertainError
// means: look whether it is there before it is made again.
func (c *Client) CreatePull(ctx context.Context, p Proposal) (Proposal, error) {
	if err := fits(p.Body); err != nil {
		return Proposal{}, err
	}
	made, _, err := c.gh.PullRequests.Create(ctx, c.repo.Owner, c.repo.Name,
		&gh.NewPullRequest{Title: &p.Title, Body: &p.Body, Head: &p.Head, Base: &p.Base})
	if err != nil {
		return Proposal{}, c.failed("making a pull request of "+p.Head, err)
	}
	return proposalOf(made), nil
}

// UpdatePull replaces a pull request's title and text. It may be repeated at
// will.
func (c *Client) UpdatePull(ctx context.Context, p Proposal) error {
	if err := fits(p.Body); err != nil {
		return err
	}
	// Only what is given is changed: the library's own call may send more.
	_, _, err := c.gh.PullRequests.Edit(ctx, c.repo.Owner, c.repo.Name, p.Number, &gh.PullRequest{Title: &p.Title, Body: &p.Body})
	return c.failed(fmt.Sprintf("updating pull request #%d", p.Number), err)
}

// IssueInfo is what is needed of an issue.
type IssueInfo struct {
	Number int
	Title  string
	Open   bool
	Labels []string
}

// IssuesLabelled are the issues with a label, open and closed, newest first;
// pull requests are none. At most most are read.
func (c *Client) IssuesLabelled(ctx context.Context, label string, most int) ([]IssueInfo, error) {
	var out []IssueInfo
	o := &gh.IssueListByRepoOptions{State: "all", Labels: []string{label}, ListOptions: gh.ListOptions{PerPage: 100}}
	for {
		page, resp, err := c.gh.Issues.ListByRepo(ctx, c.repo.Owner, c.repo.Name, o)
		if err != nil {
			return nil, c.failed("reading the issues with the label "+label, err)
		}
		for _, i := range page {
			if i.IsPullRequest() {
				continue
			}
			one := IssueInfo{Number: i.GetNumber(), Title: i.GetTitle(), Open: i.GetState() == "open"}
			for _, l := range i.Labels {
				one.Labels = append(one.Labels, l.GetName())
			}
			if out = append(out, one); len(out) == most {
				return out, nil
			}
		}
		if resp.NextPage <= o.Page {
			return out, nil
		}
		o.Page = resp.NextPage
	}
}
