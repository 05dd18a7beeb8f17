package github

import (
	"cmp"
	"slices"
	"time"

	"github.com/assaybot/assay/internal/mine"
)

// list is a connection: a page of it at first, all of it once it has been
// followed. A node that the token may not see is nil.
type list[T any] struct {
	TotalCount int
	PageInfo   struct {
		HasNextPage bool
		EndCursor   string
	}
	Nodes []*T
}

type actor struct {
	Typename string `json:"__typename"`
	Login    string
}

// name is how REST and git write an account: an App's with "[bot]". A deleted
// account is ghost, as the web pages have it.
func (a *actor) name() string {
	switch {
	case a == nil:
		return "ghost"
	case a.Typename == "Bot":
		return a.Login + "[bot]"
	}
	return a.Login
}

func (a *actor) bot() bool { return a != nil && a.Typename == "Bot" }

type label struct{ Name string }

type comment struct {
	Author       *actor
	CreatedAt    time.Time
	LastEditedAt time.Time
	Body         string
}

type edit struct {
	EditedAt  time.Time
	DeletedAt time.Time
	Diff      *string
}

type review struct {
	Author      *actor
	State       string
	SubmittedAt time.Time
}

type thread struct {
	ID           string
	Number       int
	Title, Body  string
	URL          string
	Author       *actor
	CreatedAt    time.Time
	UpdatedAt    time.Time
	LastEditedAt time.Time
	Labels       *list[label]
	Comments     *list[comment]
	Edits        *list[edit] `json:"userContentEdits"`
}

func (t *thread) at() (time.Time, int) { return t.UpdatedAt, t.Number }

type issue struct {
	thread
	State      string
	ClosedAt   time.Time
	Repository struct{ NameWithOwner string }
}

type pull struct {
	thread
	BaseRefName, HeadRefName string
	MergedAt                 time.Time
	MergeCommit              *struct{ Oid string }
	Reviews                  *list[review]
	Closes                   *list[issue] `json:"closingIssuesReferences"`
	Commits                  list[struct {
		Commit struct{ AuthoredDate time.Time }
	}]
}

// present are the nodes of a list that can be seen; a missing list has none.
func present[T any](l *list[T]) []*T {
	if l == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.Nodes), func(n *T) bool { return n == nil })
}

// each turns every node into something else; nothing stays nil.
func each[T, U any](all []*T, f func(*T) U) []U {
	if len(all) == 0 {
		return nil
	}
	out := make([]U, len(all))
	for i, n := range all {
		out[i] = f(n)
	}
	return out
}

func labelNames(l *list[label]) []string {
	return each(present(l), func(n *label) string { return n.Name })
}

func comments(l *list[comment]) []mine.Comment {
	out := each(present(l), func(c *comment) mine.Comment {
		return mine.Comment{Author: c.Author.name(), Created: c.CreatedAt, Edited: c.LastEditedAt, Body: c.Body}
	})
	slices.SortStableFunc(out, func(a, b mine.Comment) int { return a.Created.Compare(b.Created) })
	return out
}

// edits are oldest first. The field that the server calls a diff holds the
// whole text; a state that was deleted from the history has none and is left
// out.
func edits(l *list[edit]) []mine.Edit {
	var out []mine.Edit
	for _, e := range present(l) {
		if e.Diff != nil && e.DeletedAt.IsZero() {
			out = append(out, mine.Edit{When: e.EditedAt, Text: *e.Diff})
		}
	}
	slices.SortStableFunc(out, func(a, b mine.Edit) int { return a.When.Compare(b.When) })
	return out
}

func (i *issue) noun() mine.Issue {
	return mine.Issue{
		Number: i.Number, Repo: i.Repository.NameWithOwner, Title: i.Title, Body: i.Body, Author: i.Author.name(), State: i.State,
		Labels: labelNames(i.Labels), Created: i.CreatedAt, Updated: i.UpdatedAt, Closed: i.ClosedAt, Edited: i.LastEditedAt,
		Edits: edits(i.Edits), Comments: comments(i.Comments), URL: i.URL,
	}
}

func (p *pull) noun(defaultBranch string) mine.Pull {
	out := mine.Pull{
		Number: p.Number, Title: p.Title, Body: p.Body, Author: p.Author.name(), Bot: p.Author.bot(),
		Base: p.BaseRefName, Default: p.BaseRefName == defaultBranch, HeadBranch: p.HeadRefName, Labels: labelNames(p.Labels),
		Created: p.CreatedAt, Updated: p.UpdatedAt, Merged: p.MergedAt, Edited: p.LastEditedAt, Edits: edits(p.Edits),
		Comments: comments(p.Comments), Commits: p.Commits.TotalCount, URL: p.URL,
	}
	if p.MergeCommit != nil {
		out.MergeCommit = p.MergeCommit.Oid
	}
	for _, c := range p.Commits.Nodes {
		if c != nil {
			out.FirstCommit = c.Commit.AuthoredDate
		}
	}
	out.Reviews = each(present(p.Reviews), func(r *review) mine.ReviewState {
		return mine.ReviewState{Author: r.Author.name(), State: r.State, When: r.SubmittedAt}
	})
	out.Closes = each(present(p.Closes), (*issue).noun)
	slices.SortStableFunc(out.Closes, func(a, b mine.Issue) int { return cmp.Or(cmp.Compare(a.Repo, b.Repo), a.Number-b.Number) })
	return out
}
