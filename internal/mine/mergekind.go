package mine

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The ways by which a change comes to the main line.
const (
	MergeSquash = "squash"
	MergeCommit = "merge_commit"
	MergeRebase = "rebase" // its commits lie on the main line themselves
	MergeBranch = "branch" // a merge that belongs to no pull request
	MergeDirect = "direct" // a commit that belongs to none
)

// Merge is what the messages of a change tell of its pull request.
type Merge struct {
	Kind string
	// Number of the pull request, 0 for none.
	Number int
	// Title and Body are the pull request's, without what the host adds.
	Title, Body string
	// Author of the work, "Name <mail>", and the date of its first commit, zero
	// where a squash merge hides it.
	Author    string
	FirstWork time.Time
	// Bot is a server's word that the author is no person.
	Bot bool
	// Owner and Head name the branch that was merged, Base the one that it
	// was merged into; each is "" where the message doesn't tell. Same: the
	// head is a branch of the same repository.
	Owner, Head, Base string
	Same              bool
	// Path is how the host calls the page of a pull request ("pull").
	Path string
}

// MergeOf reads how c came to the main line from its parents and messages.
func MergeOf(c Change) Merge {
	m := Merge{Title: strings.TrimSpace(c.Subject), Body: c.Body, Author: c.Author, FirstWork: c.Authored, Path: "pull"}
	merged := len(c.Parents) > 1
	if !m.bySubject() && !m.byBody() {
		m.byTrailer(merged)
	}
	switch {
	case merged && m.Number > 0:
		m.Kind = MergeCommit
	case merged:
		m.Kind = MergeBranch
	case m.Number == 0:
		m.Kind = MergeDirect
	case m.Kind == "":
		m.Kind = MergeSquash
	}
	if merged {
		m.fromInner(c.Inner)
	}
	if m.Kind == MergeSquash && c.Committed.Sub(c.Authored).Abs() < time.Minute {
		m.FirstWork = time.Time{} // the host dated the author by the merge
	}
	m.Body = ownText(m.Body)
	return m
}

// subjectForm is one host's subject line; set fills m from its groups.
type subjectForm struct {
	re  *regexp.Regexp
	set func(m *Merge, g []string)
}

// subjectForms are tried in order. Groups hold the number first.
var subjectForms = []subjectForm{
	// GitHub's merge commit.
	{regexp.MustCompile(`^Merge pull request #(\d{1,9}) from ([^/\s]+)/(\S+)`), func(m *Merge, g []string) {
		m.Owner, m.Head = g[2], g[3]
		m.titleFromBody()
	}},
	// Bitbucket Server's, old and new.
	{regexp.MustCompile(`^Merge pull request #(\d{1,9}) in \S+ from (\S+) to (\S+)`), func(m *Merge, g []string) {
		m.Head, m.Base, m.Same, m.Path = g[2], g[3], true, "pull-requests"
		m.titleFromBody()
	}},
	{regexp.MustCompile(`^Pull request #(\d{1,9}): (.+)`), func(m *Merge, g []string) { m.Title, m.Path = g[2], "pull-requests" }},
	// Bitbucket Cloud's.
	{regexp.MustCompile(`^Merged in \S+ \(pull request #(\d{1,9})\)`), func(m *Merge, g []string) {
		m.Path = "pull-requests"
		m.Head, m.Same = strings.Fields(g[0])[2], true
		m.titleFromBody()
	}},
	// Gitea's and Forgejo's.
	{regexp.MustCompile(`^Merge pull request ['"].*['"] \(#(\d{1,9})\) from (\S+) into (\S+)`), func(m *Merge, g []string) {
		m.Title = strings.Trim(g[0][len("Merge pull request "):strings.LastIndex(g[0], " (#")], `'"`)
		m.Head, m.Base, m.Path = g[2], g[3], "pulls"
	}},
	// Azure DevOps'.
	{regexp.MustCompile(`^Merged PR (\d{1,9}): (.+)`), func(m *Merge, g []string) { m.Title, m.Path = g[2], "pullrequest" }},
	// Merge queues: bors and homu.
	{regexp.MustCompile(`^(?:Merge|Auto merge of) #(\d{1,9})(?: - (\S+?)[:,].*)?$`), func(m *Merge, _ []string) { m.titleFromBody() }},
	// The squash merge of GitHub, Gitea and GitLab; the last number counts.
	{regexp.MustCompile(`^.*\S\s*\(#(\d{1,9})\)$`), func(m *Merge, g []string) {
		m.Title = strings.TrimSpace(g[0][:strings.LastIndex(g[0], "(")])
		m.joinTitle()
	}},
	{regexp.MustCompile(`^.*\S\s*\(!(\d{1,9})\)$`), func(m *Merge, g []string) {
		m.Title = strings.TrimSpace(g[0][:strings.LastIndex(g[0], "(")])
		m.Path = "-/merge_requests"
	}},
}

func (m *Merge) bySubject() bool {
	for _, f := range subjectForms {
		if g := f.re.FindStringSubmatch(m.Title); g != nil {
			m.Number, _ = strconv.Atoi(g[1])
			f.set(m, g)
			return m.Number > 0
		}
	}
	return false
}

// The patterns of GitLab's merges, which carry the number in the body.
var (
	mergeRequest = regexp.MustCompile(`(?m)^See merge request (?:\S*?)!(\d{1,9})[ \t]*$`)
	mergedBranch = regexp.MustCompile(`^Merge branch '([^']+)'(?: of (\S+))?(?: into '?([^']+?)'?)?$`)
)

func (m *Merge) byBody() bool {
	g := mergedBranch.FindStringSubmatch(m.Title)
	if g != nil {
		m.Head, m.Base, m.Same = g[1], g[3], g[2] == ""
	}
	n := mergeRequest.FindStringSubmatch(m.Body)
	if n == nil {
		return false
	}
	m.Number, _ = strconv.Atoi(n[1])
	m.Path = "-/merge_requests"
	if g != nil {
		m.titleFromBody()
	}
	return m.Number > 0
}

// pullTrailer are lines by which projects that rebase name the pull request
// of a commit: its address, or its number alone.
var pullTrailer = regexp.MustCompile(`(?mi)^(?:PR-URL|PR|Pull-Request|Pull-Request-URL|Pull-Req|GitHub-Pull-Request|GitHub-PR|Merge-Request|MR|Part-of|Reviewed-on)[ \t]*:[ \t]*<?` +
	`(?:\S*?/(?:pull|pulls|pull-requests|pullrequest|merge_requests|\+)/(\d{1,9})(?:[/?#]\S*)?|(?:[\w./-]+)?[#!](\d{1,9})|(\d{1,9}))>?[ \t]*$` +
	`|^Close[sd]?:?[ \t]+#(\d{1,9})(?:[ \t]+from[ \t]+\S.*|\.?[ \t]*)$`)

func (m *Merge) byTrailer(merged bool) {
	if merged {
		return // a branch whose last commit has a trailer
	}
	g := pullTrailer.FindStringSubmatch(m.Body)
	if g == nil {
		return
	}
	for _, n := range g[1:] {
		if n != "" {
			m.Number, _ = strconv.Atoi(n)
		}
	}
	m.Kind = MergeRebase
}

// titleFromBody takes the body's first line for the title; without one, the
// title stays empty until the inner commits are known.
func (m *Merge) titleFromBody() {
	body := strings.TrimSpace(m.Body)
	if at := strings.Index(body, "* commit '"); at == 0 {
		body = "" // Bitbucket Server lists commits
	}
	if mergeRequest.MatchString(strings.SplitN(body, "\n", 2)[0]) {
		body = ""
	}
	m.Title, m.Body, _ = strings.Cut(body, "\n")
	m.Title = strings.TrimSpace(m.Title)
}

// joinTitle puts a long title together again, which GitHub's form cuts with an
// ellipsis and goes on with in the body.
func (m *Merge) joinTitle() {
	head, cut := strings.CutSuffix(m.Title, "…")
	tail, goes := strings.CutPrefix(m.Body, "…")
	if !cut || !goes {
		return
	}
	line, rest, _ := strings.Cut(tail, "\n")
	m.Title, m.Body = head+strings.TrimSpace(line), rest
}

// fromInner takes author, date and, if need be, the title from the first of a
// merge's commits.
func (m *Merge) fromInner(inner []InnerCommit) {
	var first InnerCommit
	for _, in := range inner {
		if first.Commit == "" || in.Authored.Before(first.Authored) {
			first = in
		}
	}
	if first.Commit == "" {
		return
	}
	m.Author, m.FirstWork = first.Author, first.Authored
	if m.Title == "" {
		m.Title, m.Body = first.Subject, first.Body
	}
}

// hostLine are lines of a message that people or hosts add for the record.
var hostLine = regexp.MustCompile(`(?i)^(?:(?:co-authored-by|signed-off-by|reviewed-by|acked-by|tested-by|approved-by|suggested-by|reported-by|pr-url|pull-request|` +
	`reviewed-on|change-id|part-of|merge-request|pull-req|github-pull-request)[ \t]*:.*|see merge request \S*!\d+|merge in \S+ from \S+ to \S+|\(cherry picked from commit [0-9a-f]+\)|-{5,})[ \t]*$`)

// ownText is a body without the lines that aren't its author's.
func ownText(body string) string {
	lines := strings.Split(body, "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return hostLine.MatchString(strings.TrimSpace(l)) })
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// gathered are the pull requests, other than its own, that the commits of a
// merge belong to: a merge of several is one of long-lived branches.
func gathered(c Change, own int) []int {
	var out []int
	for _, in := range c.Inner {
		m := Merge{Title: strings.TrimSpace(in.Subject), Body: in.Body}
		if m.bySubject() && m.Number != own && !slices.Contains(out, m.Number) {
			out = append(out, m.Number)
		}
	}
	slices.Sort(out)
	return out
}
