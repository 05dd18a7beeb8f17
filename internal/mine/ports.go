// Package mine turns a repository's history into candidates: which merged
// changes could be tasks, what they close, how their files split into source
// and tests, what their statement says and what speaks against them. It is
// pure but for its two ports; it runs no git and asks no server itself.
package mine

import (
	"context"
	"time"
)

// History is a repository's main line, newest last. Implementation: git.
type History interface {
	// Changes calls yield for every commit of the branch's first-parent line
	// that landed after since (committer date), oldest first. It stops at the
	// first error of yield.
	Changes(ctx context.Context, q Query, yield func(Change) error) error
	// Patch is the change's binary-safe patch against its first parent, for
	// the given paths only (all when empty).
	Patch(ctx context.Context, c Change, paths []string) ([]byte, error)
	// Read gives the contents of some paths at a commit; a path that the
	// commit lacks is left out.
	Read(ctx context.Context, commit string, paths []string) (map[string][]byte, error)
}

// Query selects a part of a history. An empty Branch is the default branch;
// what After, a commit, already held is left out.
type Query struct {
	Branch string
	Since  time.Time
	Until  time.Time
	After  string
}

// Change is one commit of the first-parent line with what it changed against
// its first parent.
type Change struct {
	Commit  string
	Parents []string
	// Author is "Name <mail>"; Authored and Committed are its dates.
	Author    string
	Authored  time.Time
	Committed time.Time
	Subject   string
	Body      string
	Files     []FileStat
	// Inner are the commits that a merge commit brought in (its second
	// parent's side), newest first; empty for other commits.
	Inner []InnerCommit
}

// InnerCommit is one commit that a merge brought in.
type InnerCommit struct {
	Commit   string
	Author   string
	Authored time.Time
	Subject  string
	Body     string
}

// FileStat is one path of a change, as git tells it. Status is A, M, D, R or
// T; Old is the path before a rename. Modes are git modes in octal.
type FileStat struct {
	Path, Old        string
	Status           string
	Added, Removed   int
	Binary           bool
	OldMode, NewMode string
}

// Texts are what a server knows of pull requests and issues. Implementation:
// github; a local clone alone has none.
type Texts interface {
	// Pulls calls yield for every merged pull request updated at or after
	// the cursor, in the order (updated, number).
	Pulls(ctx context.Context, after Cursor, yield func(Pull) error) error
	// Issues calls yield for every open issue updated at or after the
	// cursor, in the same order.
	Issues(ctx context.Context, after Cursor, yield func(Issue) error) error
}

// Cursor is the last thing that was seen: forward in (updated, number).
type Cursor struct {
	Updated time.Time `json:"updated,omitzero"`
	Number  int       `json:"number,omitempty"`
}

// Pull is a merged pull request as the server tells it.
type Pull struct {
	Number      int
	Title, Body string
	Author      string
	Bot         bool
	Base        string
	Default     bool // it was merged into the default branch
	MergeCommit string
	HeadBranch  string
	Labels      []string
	Created     time.Time
	Updated     time.Time
	Merged      time.Time
	Edited      time.Time
	Edits       []Edit
	FirstCommit time.Time
	Commits     int // how many it has; 0 is not known
	Comments    []Comment
	Reviews     []ReviewState
	Closes      []Issue // closingIssuesReferences
	URL         string
}

// Issue is an issue as the server tells it.
type Issue struct {
	Number      int
	Repo        string
	Title, Body string
	Author      string
	State       string
	Labels      []string
	Created     time.Time
	Updated     time.Time
	Closed      time.Time
	Edited      time.Time
	Edits       []Edit
	Comments    []Comment
	URL         string
}

// Edit is one state of an edited text: the text as it stood from When on.
type Edit struct {
	When time.Time
	Text string
}

// Comment is one comment, in order of time.
type Comment struct {
	Author  string
	Created time.Time
	Edited  time.Time
	Body    string
}

// ReviewState is one review of a pull request.
type ReviewState struct {
	Author string
	State  string
	When   time.Time
}

// Options of a mining run.
type Options struct {
	Repo   string // as the user named it, recorded in candidates
	Since  time.Time
	Until  time.Time
	Branch string
	Base   string // "parent" or "cutoff"
	Cutoff string // the commit to start from under the rule "cutoff"
	After  string // a commit that an earlier run had seen, "" for none
	URL    string // of the repository, for links; "" when unknown
	Now    time.Time
	Told   Told // what a server told of the pull requests
}
