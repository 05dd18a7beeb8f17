package github

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	gh "github.com/google/go-github/v66/github"

	"github.com/assaybot/assay/internal/assay"
)

// MaxComment is the most characters of a comment.
const MaxComment = 65536

// Comment is one comment of an issue or a pull request. Author is as REST
// writes it: an App's ends with "[bot]".
type Comment struct {
	ID      int64
	Node    string // to minimize it
	Author  string
	Body    string
	URL     string
	Created time.Time
	Updated time.Time
}

func commentOf(c *gh.IssueComment) Comment {
	return Comment{ID: c.GetID(), Node: c.GetNodeID(), Author: c.GetUser().GetLogin(), Body: c.GetBody(), URL: c.GetHTMLURL(),
		Created: c.GetCreatedAt().Time, Updated: c.GetUpdatedAt().Time}
}

// Comments are all comments of an issue or a pull request, oldest first, all
// pages.
func (c *Client) Comments(ctx context.Context, number int) ([]Comment, error) {
	var out []Comment
	for o := (&gh.IssueListCommentsOptions{ListOptions: gh.ListOptions{PerPage: 100}}); ; {
		page, resp, err := c.gh.Issues.ListComments(ctx, c.repo.Owner, c.repo.Name, number, o)
		if err != nil {
			return nil, c.failed(fmt.Sprintf("reading the comments of #%d", number), err)
		}
		for _, one := range page {
			out = append(out, commentOf(one))
		}
		if resp.NextPage <= o.Page {
			return out, nil
		}
		o.Page = resp.NextPage
	}
}

// CreateComment writes a comment. An UncertainError means: look whether it is
// there before it is written again.
func (c *Client) CreateComment(ctx context.Context, number int, body string) (Comment, error) {
	if err := fits(body); err != nil {
		return Comment{}, err
	}
	out, _, err := c.gh.Issues.CreateComment(ctx, c.repo.Owner, c.repo.Name, number, &gh.IssueComment{Body: &body})
	if err != nil {
		return Comment{}, c.failed(fmt.Sprintf("commenting on #%d", number), err)
	}
	return commentOf(out), nil
}

// UpdateComment replaces a comment's text. It may be repeated at will.
func (c *Client) UpdateComment(ctx context.Context, id int64, body string) (Comment, error) {
	if err := fits(body); err != nil {
		return Comment{}, err
	}
	out, _, err := c.gh.Issues.EditComment(ctx, c.repo.Owner, c.repo.Name, id, &gh.IssueComment{Body: &body})
	if err != nil {
		return Comment{}, c.failed(fmt.Sprintf("updating comment %d", id), err)
	}
	return commentOf(out), nil
}

// DeleteComment deletes a comment; one that is gone is fine.
func (c *Client) DeleteComment(ctx context.Context, id int64) error {
	_, err := c.gh.Issues.DeleteComment(ctx, c.repo.Owner, c.repo.Name, id)
	if err = c.failed(fmt.Sprintf("deleting comment %d", id), err); NotFound(err) {
		return nil
	}
	return err
}

func fits(body string) error {
	if n := utf8.RuneCountInString(body); n > MaxComment {
		return assay.Infra(assay.InfraAPI, "writing a comment", fmt.Errorf("it has %d characters, %d are the most: cut it", n, MaxComment))
	}
	return nil
}

// minimizeQuery hides a comment.
const minimizeQuery = `mutation Minimize($id: ID!) {
  minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { minimizedComment { isMinimized } }
}`

// Minimize hides a comment as outdated, by its node. It may be repeated at
// will.
func (c *Client) Minimize(ctx context.Context, node string) error {
	var out struct {
		MinimizeComment *struct {
			MinimizedComment *struct{ IsMinimized bool }
		}
	}
	notes, err := graph{c.t}.do(ctx, operation{text: minimizeQuery, vars: map[string]any{"id": node}, write: true}, &out)
	if err == nil && (out.MinimizeComment == nil || out.MinimizeComment.MinimizedComment == nil || !out.MinimizeComment.MinimizedComment.IsMinimized) {
		err = &GraphError{Texts: append(notes, "the comment was not minimized")}
	}
	if err != nil {
		return fmt.Errorf("hiding a comment in %s: %w", c.repo, err)
	}
	return nil
}
