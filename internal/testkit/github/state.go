package github

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Repo is one repository. Change it through Server.Edit once the server is in
// use.
type Repo struct {
	mu          *sync.Mutex // the server's
	ID          int64
	Owner, Name string
	Default     string // default branch
	Private     bool
	Fork        bool
	Old         []string          // former full names: they redirect
	Heads       map[string]string // branch to commit
	Files       map[string][]byte // of the default branch, by path
	Permissions map[string]string // login to admin, maintain, write, triage, read
	// Resolve tells the tip of a branch of a git repository that stands for
	// this one's; nil, or "", leaves it to Heads.
	Resolve func(branch string) string
	// NoPulls: the settings keep workflows from making pull requests.
	NoPulls   bool
	Labels    []string
	Pulls     []*Pull
	Issues    []*Issue
	Checks    []*CheckRun
	next      int
	createdAt time.Time
}

// FullName is "owner/name".
func (r *Repo) FullName() string { return r.Owner + "/" + r.Name }

// Actor is who did something. An empty login is a deleted account: the reply
// says null. An empty type is User.
type Actor struct {
	Login string
	Type  string // User, Bot, Organization, Mannequin
}

// User is a person.
func User(login string) Actor { return Actor{Login: login, Type: "User"} }

// Bot is an App's account. REST adds "[bot]" to its login, GraphQL does not.
func Bot(login string) Actor { return Actor{Login: login, Type: "Bot"} }

// Thread is what pull requests and issues share.
type Thread struct {
	ID          int64
	Number      int
	Title, Body string
	Author      Actor
	Labels      []string
	Created     time.Time
	Updated     time.Time
	Closed      time.Time
	Edits       []Edit // oldest first
	Comments    []*Comment
	// Hidden makes GraphQL answer null with an error of type FORBIDDEN, as
	// for an issue of an organization that wants single sign-on.
	Hidden bool
	repo   *Repo
}

// Issue is one issue. State is OPEN or CLOSED; empty is OPEN.
type Issue struct {
	Thread
	State string
}

// Pull is one pull request. State is OPEN, CLOSED or MERGED; empty is MERGED
// when Merged is set, else OPEN.
type Pull struct {
	Thread
	State       string
	Merged      time.Time
	MergeCommit string
	Base        string // branch; empty is the default branch
	Head        string // branch
	HeadSHA     string
	HeadRepo    string // full name of the fork; empty is the same repository
	Commits     []Commit
	Reviews     []Review
	Closes      []Ref
}

// Ref names an issue, maybe of another repository.
type Ref struct {
	Repo   string // full name; empty is the pull request's own
	Number int
}

// Commit is one commit of a pull request.
type Commit struct {
	SHA      string
	Message  string
	Authored time.Time
}

// Review is one review of a pull request.
type Review struct {
	Author    Actor
	State     string // APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING
	Submitted time.Time
}

// Edit is one state of a text. The first one is the text as it was written.
type Edit struct {
	When time.Time
	Text string
}

// Comment is one comment of an issue or a pull request.
type Comment struct {
	ID        int64
	Author    Actor
	Body      string
	Created   time.Time
	Updated   time.Time
	Edited    time.Time
	Minimized string // the classifier, lower case; empty is shown
}

// dated fills in the times that a test left out.
func (c *Comment) dated(t *Thread) {
	if c.Created.IsZero() {
		c.Created = t.Created
	}
	if c.Updated.IsZero() {
		c.Updated = c.Created
	}
}

func (c *Comment) node() string { return fmt.Sprintf("IC_%d", c.ID) }

// CheckRun is one check run.
type CheckRun struct {
	ID                   int64
	Name, SHA            string
	Status, Conclusion   string
	Started, Completed   time.Time
	ExternalID           string
	DetailsURL           string
	Title, Summary, Text string
	Annotations          []Annotation
	App                  string
}

// Annotation is one annotation of a check run, in the names of the wire.
type Annotation struct {
	Path        string `json:"path"`
	StartLine   int    `json:"start_line"`
	EndLine     int    `json:"end_line"`
	StartColumn *int   `json:"start_column"`
	EndColumn   *int   `json:"end_column"`
	Level       string `json:"annotation_level"`
	Message     string `json:"message"`
	Title       string `json:"title"`
	RawDetails  string `json:"raw_details"`
}

// AddPull adds a pull request. A zero number takes the next free one.
func (r *Repo) AddPull(p Pull) *Pull {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(&p.Thread)
	if p.State == "" {
		p.State = "OPEN"
		if !p.Merged.IsZero() {
			p.State = "MERGED"
		}
	}
	if p.State == "MERGED" && p.Closed.IsZero() {
		p.Closed = p.Merged
	}
	p.Base, p.Head = or(p.Base, r.Default), or(p.Head, fmt.Sprintf("topic-%d", p.Number))
	p.HeadSHA = or(p.HeadSHA, sha("head", r.ID, p.Number))
	if p.MergeCommit == "" && p.State == "MERGED" {
		p.MergeCommit = sha("merge", r.ID, p.Number)
	}
	r.Pulls = append(r.Pulls, &p)
	return &p
}

// AddIssue adds an issue. A zero number takes the next free one.
func (r *Repo) AddIssue(i Issue) *Issue {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(&i.Thread)
	i.State = or(i.State, "OPEN")
	r.Issues = append(r.Issues, &i)
	return &i
}

func (r *Repo) settle(t *Thread) {
	if t.Number == 0 {
		t.Number = r.next + 1
	}
	r.next = max(r.next, t.Number)
	t.repo, t.ID = r, r.ID*100000+int64(t.Number)
	if t.Created.IsZero() {
		t.Created = r.createdAt
	}
	if t.Updated.IsZero() {
		t.Updated = t.Created
	}
	for n, c := range t.Comments {
		if c.ID == 0 {
			c.ID = t.ID*1000 + int64(n)
		}
		c.dated(t)
	}
}

// lastEdit is when the text was last changed; zero when it never was.
func (t *Thread) lastEdit() time.Time {
	if len(t.Edits) < 2 {
		return time.Time{}
	}
	return t.Edits[len(t.Edits)-1].When
}

// Pull is the pull request of that number, or nil.
func (r *Repo) Pull(number int) *Pull {
	for _, p := range r.Pulls {
		if p.Number == number {
			return p
		}
	}
	return nil
}

// Issue is the issue of that number, or nil.
func (r *Repo) Issue(number int) *Issue {
	for _, i := range r.Issues {
		if i.Number == number {
			return i
		}
	}
	return nil
}

func (r *Repo) thread(number int) (*Thread, bool) {
	if p := r.Pull(number); p != nil {
		return &p.Thread, true
	}
	if i := r.Issue(number); i != nil {
		return &i.Thread, true
	}
	return nil, false
}

// threads are all pull requests and issues of the repository.
func (r *Repo) threads() []*Thread {
	out := make([]*Thread, 0, len(r.Pulls)+len(r.Issues))
	for _, p := range r.Pulls {
		out = append(out, &p.Thread)
	}
	for _, i := range r.Issues {
		out = append(out, &i.Thread)
	}
	return out
}

func (r *Repo) comment(id int64) (*Thread, *Comment) {
	for _, t := range r.threads() {
		for _, c := range t.Comments {
			if c.ID == id {
				return t, c
			}
		}
	}
	return nil, nil
}

func (r *Repo) check(id int64) *CheckRun {
	for _, c := range r.Checks {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// sha is a made-up commit id.
func sha(kind string, repo int64, n int) string {
	return fmt.Sprintf("%x%038x", kind[0], repo*1000000+int64(n))
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func split(full string) (owner, name string) {
	owner, name, _ = strings.Cut(full, "/")
	return owner, name
}
