package mine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
)

// The rules of a candidate's base.
const (
	BaseParent = "parent" // the commit before the change
	BaseCutoff = "cutoff" // one commit for all: the last before the cutoff
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

	pull   *Pull              // that a server told of
	doubts []assay.Confounder // of the change itself
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
// Where no server told of a change, the messages of its commits stand in.
func Mine(ctx context.Context, h History, o Options) (Mined, error) {
	m := miner{history: h, opts: o, slug: Slug(o.URL)}
	q := Query{Branch: o.Branch, Since: o.Since, Until: o.Until, After: o.After}
	each := func(c Change) error { return m.next(ctx, c) }
	var line []Change
	if !o.Told.none() {
		each = func(c Change) error { line = append(line, c); return nil }
	}
	if err := h.Changes(ctx, q, each); err != nil {
		return m.out, fmt.Errorf("reading the history of %s: %w", o.Repo, err)
	}
	m.rebased = o.Told.rebased(line)
	for _, c := range line {
		if err := m.next(ctx, c); err != nil {
			return m.out, fmt.Errorf("reading the history of %s: %w", o.Repo, err)
		}
	}
	err := m.flush(ctx)
	return m.out, err
}

// miner is the state between two changes: the commits of a rebased pull
// request that may go on.
type miner struct {
	history History
	opts    Options
	slug    string
	group   []Change
	number  int
	rebased map[string]Pull // by commit, where the server told of it
	out     Mined
}

// mergeOf is how c came to the main line.
func (m *miner) mergeOf(c Change) Merge {
	merge := MergeOf(c)
	if p, ok := m.rebased[c.Commit]; ok {
		merge.Kind, merge.Number = MergeRebase, p.Number
	}
	return merge
}

func (m *miner) next(ctx context.Context, c Change) error {
	m.out.Changes++
	m.out.Last = c.Commit
	merge := m.mergeOf(c)
	if merge.Kind != MergeRebase {
		if err := m.flush(ctx); err != nil {
			return err
		}
		return m.add(ctx, work{c, merge, []string{c.Commit}})
	}
	if merge.Number != m.number {
		if err := m.flush(ctx); err != nil {
			return err
		}
	}
	m.group, m.number = append(m.group, c), merge.Number
	return nil
}

// flush makes one candidate of the rebased commits of a pull request.
func (m *miner) flush(ctx context.Context) error {
	group := m.group
	m.group, m.number = nil, 0
	if len(group) == 0 {
		return nil
	}
	c, err := m.joined(ctx, group)
	if err != nil {
		return err
	}
	commits := make([]string, len(group))
	for i, g := range group {
		commits[i] = g.Commit
	}
	merge := m.mergeOf(group[0])
	if len(group) > 1 {
		// The later commits' messages count for links.
		c.Inner = inners(group)
	}
	return m.add(ctx, work{c, merge, commits})
}

// joined is a row of commits as one change. What it changes as a whole is
// read from its patch, as later commits may take back what earlier ones did.
func (m *miner) joined(ctx context.Context, group []Change) (Change, error) {
	last := group[len(group)-1]
	if len(group) == 1 {
		return last, nil
	}
	last.Parents = group[0].Parents
	last.Subject, last.Body, last.Author, last.Authored = group[0].Subject, group[0].Body, group[0].Author, group[0].Authored
	files, err := m.parsed(ctx, last, nil)
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

// work is a change, how it came to the main line, and its commits there.
type work struct {
	change  Change
	merge   Merge
	commits []string
}

// add makes the candidate of one change.
func (m *miner) add(ctx context.Context, f work) error {
	c, merge := f.change, f.merge
	p, told := m.opts.Told.of(c.Commit, merge.Number)
	if told {
		merge = merge.told(c, p)
	}
	k := m.candidate(c, merge)
	k.Files = splitFiles(c.Files)
	reason, detail := m.unfit(c, merge)
	if reason == "" {
		tests, err := m.inline(ctx, c, &k)
		if err != nil {
			return err
		}
		reason, detail = unsplit(k.Files, tests)
	}
	k.Language = Language(k.Files)
	if told {
		m.tell(&k, c, p)
	} else {
		m.guess(&k, c, merge)
	}
	k.Source.Issues = Closes(k.Links)
	out := Found{Commits: f.commits, doubts: changeDoubts(c, k.Files)}
	if told {
		out.pull = &p
	}
	k.Doubts = append(k.Doubts, out.doubts...)
	if reason != "" {
		k.Status, k.Reason, k.Detail, k.Doubts = assay.StatusRejected, reason, shorten(detail), nil
	}
	k.Digest = DigestOf(k)
	out.Candidate = k
	m.out.Found = append(m.out.Found, out)
	return nil
}

// tell fills in what a server told of the change.
func (m *miner) tell(k *assay.Candidate, c Change, p Pull) {
	enrich(k, p)
	slug := slugOf(p, m.opts)
	k.Links = linksOf(p, slug, messages(c, p))
	statementOf(k, p, closed(p, slug))
}

// messages are those of the commits, but for a squash merge's that says what
// the pull request does.
func messages(c Change, p Pull) []string {
	var out []string
	m := MergeOf(c)
	if m.Title != p.Title || m.Body != "" && m.Body != ownText(p.Body) {
		out = append(out, c.Subject+"\n\n"+c.Body)
	}
	for _, i := range c.Inner {
		out = append(out, i.Subject+"\n\n"+i.Body)
	}
	return out
}

// guess fills in what the messages tell, where no server does.
func (m *miner) guess(k *assay.Candidate, c Change, merge Merge) {
	k.Links = m.links(c, merge)
	k.Statement, k.Doubts = MakeStatement(StatementInput{
		Pull:      Pull{Number: merge.Number, Title: merge.Title, Body: merge.Body, FirstCommit: merge.FirstWork},
		FirstWork: merge.FirstWork, Paths: paths(k.Files),
	})
	if commitList(merge.Body) {
		line, _, _ := strings.Cut(merge.Body, "\n")
		k.Doubts = append(k.Doubts, assay.Confounder{Kind: DoubtCommitList, Evidence: shorten(line)})
	}
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

// links reads the title, the body and the messages of the inner commits.
func (m *miner) links(c Change, merge Merge) []assay.Link {
	in := LinkInput{Repo: m.slug, Title: merge.Title, Body: merge.Body, Branch: merge.Head}
	if commitList(in.Body) {
		in.Body, in.Commits = "", []string{in.Body}
	}
	for _, i := range c.Inner {
		in.Commits = append(in.Commits, i.Subject+"\n\n"+i.Body)
	}
	return others(Links(in), merge.Number)
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

func short(commit string) string { return commit[:min(12, len(commit))] }

// DigestOf is 64 hex digits over what mining decided from and came to: the
// whole candidate but for its repository's name, what later stages add, and
// what moves without a word of the problem: labels, reviews, the last update.
func DigestOf(c assay.Candidate) string {
	c.Repo, c.Digest, c.Task, c.Strength, c.Validation = "", "", "", nil, nil
	c.Updated, c.Labels, c.Reviewed = time.Time{}, nil, ""
	data, err := json.Marshal(c)
	if err != nil {
		return "" // a candidate is made of plain values
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
