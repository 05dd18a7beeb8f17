package mine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// The rules of a candidate's base.
const (
	BaseParent = "parent" // the commit before the change
	BaseCutoff = "cutoff" // one commit for all: the last before the cutoff
)

// Bounds of what a task can be about; beyond, no statement tells the change.
const (
	mostFiles = 60   // source and test files
	mostLines = 6000 // changed lines of those
)

// Doubts that the change shows, or that the text is a list of its commits.
const (
	DoubtSubmodule  = "changes_submodule"
	DoubtInline     = "inline_tests"
	DoubtCommitList = "commit_messages"
)

// Found is a candidate with all commits of the main line that it is made of.
// Its ID is that of its number alone: Upsert tells several of one number
// apart.
type Found struct {
	assay.Candidate
	Commits []string
}

// Mined is what a run found, in the order in which changes landed.
type Mined struct {
	Found []Found
	// Changes is the number of commits of the main line that were seen, Last
	// the newest of them ("" for none).
	Changes int
	Last    string
}

// Mine walks the main line and makes a candidate of every change: those that
// can't be tasks are rejected with their reason, so that the counts add up.
// Texts of a server are not needed; the messages of commits stand in.
func Mine(ctx context.Context, h History, o Options) (Mined, error) {
	m := miner{ctx: ctx, history: h, opts: o, slug: Slug(o.URL)}
	q := Query{Branch: o.Branch, Since: o.Since, Until: o.Until, After: o.After}
	if err := h.Changes(ctx, q, m.next); err != nil {
		return m.out, fmt.Errorf("reading the history of %s: %w", o.Repo, err)
	}
	return m.out, m.flush()
}

// miner is the state between two changes: the commits of a rebased pull
// request that may go on.
type miner struct {
	ctx     context.Context
	history History
	opts    Options
	slug    string
	group   []Change
	number  int
	out     Mined
}

func (m *miner) next(c Change) error {
	m.out.Changes++
	m.out.Last = c.Commit
	merge := MergeOf(c)
	if merge.Kind != MergeRebase {
		if err := m.flush(); err != nil {
			return err
		}
		return m.add(c, merge, []string{c.Commit})
	}
	if merge.Number != m.number {
		if err := m.flush(); err != nil {
			return err
		}
	}
	m.group, m.number = append(m.group, c), merge.Number
	return nil
}

// flush makes one candidate of the rebased commits of a pull request.
func (m *miner) flush() error {
	group := m.group
	m.group, m.number = nil, 0
	if len(group) == 0 {
		return nil
	}
	c, err := m.joined(group)
	if err != nil {
		return err
	}
	commits := make([]string, len(group))
	for i, g := range group {
		commits[i] = g.Commit
	}
	merge := MergeOf(group[0])
	if len(group) > 1 {
		// The later commits' messages count for links.
		c.Inner = inners(group)
	}
	return m.add(c, merge, commits)
}

// joined is a row of commits as one change. What it changes as a whole is
// read from its patch, as later commits may take back what earlier ones did.
func (m *miner) joined(group []Change) (Change, error) {
	last := group[len(group)-1]
	if len(group) == 1 {
		return last, nil
	}
	last.Parents = group[0].Parents
	last.Subject, last.Body, last.Author, last.Authored = group[0].Subject, group[0].Body, group[0].Author, group[0].Authored
	files, err := m.parsed(last, nil)
	if err != nil {
		return last, err
	}
	last.Files = last.Files[:0:0]
	for _, f := range Files(files) {
		last.Files = append(last.Files, FileStat{Path: f.Path, Old: f.Old, Status: letter(f.Status), Added: f.Added, Removed: f.Removed, Binary: f.Binary})
	}
	return last, nil
}

func inners(group []Change) []InnerCommit {
	out := make([]InnerCommit, 0, len(group))
	for _, c := range group {
		out = append(out, InnerCommit{Commit: c.Commit, Author: c.Author, Authored: c.Authored, Subject: c.Subject, Body: c.Body})
	}
	slices.Reverse(out)
	return out
}

// add makes the candidate of one change.
func (m *miner) add(c Change, merge Merge, commits []string) error {
	k := m.candidate(c, merge)
	k.Files = splitFiles(c.Files)
	reason, detail := m.unfit(c, merge)
	if reason == "" {
		tests, err := m.inline(c, &k)
		if err != nil {
			return err
		}
		reason, detail = unsplit(k.Files, tests)
	}
	k.Language = Language(k.Files)
	k.Links = m.links(c, merge)
	k.Source.Issues = Closes(k.Links)
	k.Statement, k.Doubts = MakeStatement(StatementInput{
		Pull:      Pull{Number: merge.Number, Title: merge.Title, Body: merge.Body, FirstCommit: merge.FirstWork},
		FirstWork: merge.FirstWork, Paths: paths(k.Files),
	})
	k.Doubts = append(k.Doubts, changeDoubts(c, k.Files)...)
	if commitList(merge.Body) {
		line, _, _ := strings.Cut(merge.Body, "\n")
		k.Doubts = append(k.Doubts, assay.Confounder{Kind: DoubtCommitList, Evidence: shorten(line)})
	}
	if reason != "" {
		k.Status, k.Reason, k.Detail, k.Doubts = assay.StatusRejected, reason, shorten(detail), nil
	}
	k.Digest = DigestOf(k)
	m.out.Found = append(m.out.Found, Found{Candidate: k, Commits: commits})
	return nil
}

func (m *miner) candidate(c Change, merge Merge) assay.Candidate {
	k := assay.Candidate{
		Schema: assay.CandidateSchema, ID: "commit-" + short(c.Commit), Repo: m.opts.Repo, Status: assay.StatusMined,
		Source:    assay.Source{Kind: "commit", Commit: c.Commit, Merged: c.Committed},
		Base:      m.base(c),
		MergeKind: merge.Kind, Author: merge.Author, Title: merge.Title, FirstWork: merge.FirstWork,
	}
	if merge.Number > 0 {
		k.ID = fmt.Sprintf("pull-%d", merge.Number)
		k.Source.Kind, k.Source.Number = "pull", merge.Number
		if m.opts.URL != "" {
			k.Source.URL = fmt.Sprintf("%s/%s/%d", m.opts.URL, merge.Path, merge.Number)
		}
	}
	return k
}

func (m *miner) base(c Change) assay.Base {
	switch {
	case m.opts.Base == BaseCutoff:
		return assay.Base{Commit: m.opts.Cutoff, Rule: BaseCutoff}
	case len(c.Parents) == 0:
		return assay.Base{Rule: BaseParent}
	}
	return assay.Base{Commit: c.Parents[0], Rule: BaseParent}
}

// unfit tells the changes that are no tasks whatever their files are.
func (m *miner) unfit(c Change, merge Merge) (assay.Reason, string) {
	title := merge.Title
	if merge.Kind == MergeBranch {
		title = c.Subject
	}
	same := merge.Same || merge.Owner != "" && strings.EqualFold(merge.Owner, owner(m.slug))
	reason, detail := Noise(NoiseInput{
		Title: title, Body: opening(merge.Body), Author: merge.Author, Head: merge.Head, Base: merge.Base, SameRepo: same,
	})
	if reason != "" {
		return reason, detail
	}
	others := gathered(c, merge.Number)
	switch {
	case len(c.Parents) > 1 && len(others) > 1:
		return assay.ReasonBranchMerge, fmt.Sprintf("brings in the pull requests %v", others)
	case merge.Kind == MergeBranch:
		return assay.ReasonNotPull, "a merge without the number of a pull request: " + c.Subject
	case merge.Number == 0, len(c.Parents) == 0:
		return assay.ReasonNotPull, "a commit without the number of a pull request"
	case len(c.Files) == 0:
		return assay.ReasonEmpty, "no file differs from the commit before"
	}
	return "", ""
}

// opening is the first paragraph of a pull request's text: there stands what
// it reverts as a whole. A list of the commits that were squashed has none,
// since one of them may have taken back another.
func opening(body string) string {
	if commitList(body) {
		return ""
	}
	first, _, _ := strings.Cut(body, "\n\n")
	return first
}

// commitList tells the body that GitHub proposes for a squash merge.
func commitList(body string) bool { return strings.HasPrefix(body, "* ") }

// unsplit tells changes whose files make no task. inline counts the Rust
// source files whose tests changed.
func unsplit(files []assay.SplitFile, inline inlineCount) (assay.Reason, string) {
	source, tests, lines, gone := 0, 0, 0, 0
	for _, f := range files {
		switch {
		case f.Class == assay.ClassTest && f.Status == "deleted":
			gone++
			continue
		case f.Class == assay.ClassTest:
			tests++
		case f.Class == assay.ClassSource:
			source++
		case f.Class != assay.ClassInline:
			continue
		}
		lines += f.Added + f.Removed
	}
	source, tests = source+inline.source, tests+inline.tests
	switch {
	case inline.stuck != "":
		return assay.ReasonInlineTests, inline.stuck
	case source == 0 && tests == 0:
		return assay.ReasonNoSource, "documents, configuration or generated files only"
	case source == 0:
		return assay.ReasonNoSource, "tests only"
	case tests == 0 && gone > 0:
		return assay.ReasonNoTests, "tests were only removed"
	case tests == 0:
		return assay.ReasonNoTests, "no test file"
	case source+tests > mostFiles, lines > mostLines:
		return assay.ReasonTooLarge, fmt.Sprintf("%d source and test files, %d lines", source+tests, lines)
	}
	return "", ""
}

// links reads the title, the body and the messages of the inner commits.
func (m *miner) links(c Change, merge Merge) []assay.Link {
	in := LinkInput{Repo: m.slug, Title: merge.Title, Body: merge.Body, Branch: merge.Head}
	if commitList(in.Body) {
		in.Body, in.Commits = "", []string{in.Body}
	}
	for _, i := range c.Inner {
		in.Commits = append(in.Commits, i.Subject+"\n\n"+i.Body)
	}
	links := slices.DeleteFunc(Links(in), func(l assay.Link) bool { return l.Repo == "" && l.Issue == merge.Number })
	if len(links) == 0 {
		return nil // as it comes back from a file
	}
	return links
}

// submodule is the mode of a submodule's entry.
const submodule = "160000"

func changeDoubts(c Change, files []assay.SplitFile) []assay.Confounder {
	var out []assay.Confounder
	for _, f := range c.Files {
		if f.NewMode == submodule || f.OldMode == submodule {
			out = append(out, assay.Confounder{Kind: DoubtSubmodule, Evidence: f.Path})
			break
		}
	}
	for _, f := range files {
		if f.Class == assay.ClassInline {
			out = append(out, assay.Confounder{Kind: DoubtInline, Evidence: f.Path})
			break
		}
	}
	return out
}

// splitFiles are the paths of a change with their classes. A submodule has no
// content that could be a part of a task.
func splitFiles(stats []FileStat) []assay.SplitFile {
	if len(stats) == 0 {
		return nil // as it comes back from a file
	}
	out := make([]assay.SplitFile, 0, len(stats))
	for _, f := range stats {
		s := assay.SplitFile{Path: f.Path, Old: f.Old, Class: Classify(f.Path), Status: statusName(f.Status), Added: f.Added, Removed: f.Removed, Binary: f.Binary}
		if f.NewMode == submodule || f.OldMode == submodule {
			s.Class = assay.ClassGenerated
		}
		out = append(out, s)
	}
	return out
}

func statusName(letter string) string {
	switch letter {
	case "A":
		return "added"
	case "D":
		return "deleted"
	case "R":
		return "renamed"
	case "C":
		return "copied"
	}
	return "modified"
}

// letter is statusName's inverse.
func letter(status string) string {
	switch status {
	case "added":
		return "A"
	case "deleted":
		return "D"
	}
	return "M"
}

func paths(files []assay.SplitFile) []string {
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = f.Path
	}
	return out
}

func short(commit string) string { return commit[:min(12, len(commit))] }

// DigestOf is 64 hex digits over what mining decided from and came to: the
// whole candidate but for its repository's name and what later stages add.
func DigestOf(c assay.Candidate) string {
	c.Repo, c.Digest, c.Task, c.Strength, c.Validation = "", "", "", nil, nil
	data, err := json.Marshal(c)
	if err != nil {
		return "" // a candidate is made of plain values
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Slug is the "owner/name" of a repository's web address, "" for none.
func Slug(url string) string {
	_, rest, ok := strings.Cut(WebURL(url), "://")
	if !ok {
		return ""
	}
	_, slug, _ := strings.Cut(rest, "/")
	return slug
}

func owner(slug string) string {
	name, _, _ := strings.Cut(slug, "/")
	return name
}

// WebURL is the page of a repository by the address of its clone, "" where it
// has none: git@host:o/r.git, ssh://git@host/o/r and https://host/o/r.git are
// https://host/o/r.
func WebURL(remote string) string {
	scheme, rest, ok := strings.Cut(remote, "://")
	if !ok {
		at, path, scp := strings.Cut(remote, ":")
		if !scp || !strings.Contains(at, "@") || strings.Contains(at, "/") {
			return ""
		}
		scheme, rest = "ssh", at+"/"+path
	}
	host, path, _ := strings.Cut(rest, "/")
	host = host[strings.LastIndex(host, "@")+1:]
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	switch scheme {
	case "ssh", "git", "git+ssh":
		host, _, _ = strings.Cut(host, ":")
		scheme = "https"
	case "http", "https":
	default:
		return ""
	}
	if host == "" || path == "" {
		return ""
	}
	return scheme + "://" + host + "/" + path
}
