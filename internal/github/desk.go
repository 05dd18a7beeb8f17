package github

import (
	"context"
	"errors"
	"net/http"

	"github.com/assaybot/assay/internal/publish"
)

var _ publish.Desk = (*Target)(nil)

// DefaultBranch is the repository's default branch now.
func (t *Target) DefaultBranch(ctx context.Context) (string, error) {
	r, err := t.c.Repository(ctx)
	return r.Default, told(err)
}

// Proposals are the pull requests from a branch.
func (t *Target) Proposals(ctx context.Context, branch string) ([]publish.Proposal, error) {
	if err := t.whoami(ctx); err != nil {
		return nil, told(err)
	}
	all, err := t.c.PullsFrom(ctx, branch)
	out := make([]publish.Proposal, len(all))
	for i, p := range all {
		out[i] = t.proposed(p)
	}
	return out, told(err)
}

func (t *Target) proposed(p Proposal) publish.Proposal {
	return publish.Proposal{Number: p.Number, Title: p.Title, Body: p.Body, Head: p.Head, Base: p.Base, SHA: p.HeadSHA, URL: p.URL,
		Open: p.Open, Merged: p.Merged, Mine: t.mine(p.Author)}
}

func written(p publish.Proposal) Proposal {
	return Proposal{Number: p.Number, Title: p.Title, Body: p.Body, Head: p.Head, Base: p.Base}
}

// Propose makes a pull request.
func (t *Target) Propose(ctx context.Context, p publish.Proposal) (publish.Proposal, error) {
	made, err := t.c.CreatePull(ctx, written(p))
	var no *StatusError
	if errors.As(err, &no) && no.Status == http.StatusForbidden {
		// The settings forbid it, whatever the token's permissions are.
		return publish.Proposal{}, &publish.Denied{Err: err}
	}
	return t.proposed(made), told(err)
}

// Revise replaces a pull request's title and text.
func (t *Target) Revise(ctx context.Context, p publish.Proposal) error {
	return told(t.c.UpdatePull(ctx, written(p)))
}

// MayWrite asks for a person's role. Who isn't known has none.
func (t *Target) MayWrite(ctx context.Context, login string) (may bool, role string, err error) {
	role, err = t.c.Permission(ctx, login)
	if NotFound(err) {
		return false, "none", nil
	}
	return MayWrite(role), role, told(err)
}

// Labelled are the newest issues with a label.
func (t *Target) Labelled(ctx context.Context, label string, most int) ([]int, error) {
	all, err := t.c.IssuesLabelled(ctx, label, most)
	out := make([]int, len(all))
	for i, one := range all {
		out[i] = one.Number
	}
	return out, told(err)
}
