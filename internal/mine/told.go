package mine

import (
	"fmt"
	"slices"
	"time"

	"github.com/assaybot/assay/internal/assay"
)

// Told are the pull requests that a server told of, as Mine joins them with
// the commits of the main line. The zero value knows none.
type Told struct {
	commits   map[string]Pull
	numbers   map[int]Pull
	elsewhere map[int]Pull
}

// Join lets p be known by its merge commit.
func (t *Told) Join(p Pull) {
	if t.commits == nil {
		t.commits = map[string]Pull{}
	}
	t.commits[p.MergeCommit] = p
}

// JoinByNumber lets p be known by the number that a commit's message tells,
// for a pull request whose merge commit is gone.
func (t *Told) JoinByNumber(p Pull) {
	if t.numbers == nil {
		t.numbers = map[int]Pull{}
	}
	t.numbers[p.Number] = p
}

// Elsewhere tells that p was merged into another branch: it makes no
// candidate, whatever a message on the main line says of it.
func (t *Told) Elsewhere(p Pull) {
	if t.elsewhere == nil {
		t.elsewhere = map[int]Pull{}
	}
	t.elsewhere[p.Number] = p
}

func (t Told) none() bool { return len(t.commits) == 0 && len(t.numbers) == 0 }

// of is the pull request of a commit, whose message tells number.
func (t Told) of(commit string, number int) (Pull, bool) {
	if p, ok := t.commits[commit]; ok {
		return p, true
	}
	p, ok := t.numbers[number]
	return p, ok && number > 0
}

// stray says where the pull request of a change was merged if not here.
func (t Told) stray(commit string, number int) string {
	p, ok := t.elsewhere[number]
	if _, here := t.commits[commit]; here || !ok {
		return ""
	}
	return fmt.Sprintf("pull request #%d was merged into %s", p.Number, p.Base)
}

// rebased finds the commits of pull requests that were rebased onto the line:
// as many as the request has, the first written when its first one was. Their
// messages need not tell its number.
func (t Told) rebased(line []Change) map[string]Pull {
	out := map[string]Pull{}
	for i, c := range line {
		p, ok := t.commits[c.Commit]
		first := i - p.Commits + 1
		if !ok || p.Commits < 2 || first < 0 || !line[first].Authored.Equal(p.FirstCommit) || !t.row(line[first:i+1]) {
			continue
		}
		for _, part := range line[first : i+1] {
			out[part.Commit] = p
		}
	}
	return out
}

// row tells whether changes can be the commits of one pull request: none is a
// merge, and none but the last is another's.
func (t Told) row(line []Change) bool {
	for i, c := range line {
		if _, other := t.commits[c.Commit]; len(c.Parents) > 1 || other && i < len(line)-1 {
			return false
		}
	}
	return true
}

// told is what messages tell of a change, corrected by what the server does.
func (m Merge) told(c Change, p Pull) Merge {
	switch {
	case len(c.Parents) > 1:
		m.Kind = MergeCommit
	case m.Kind == MergeRebase, m.Number == p.Number:
	case c.Authored.Equal(p.FirstCommit):
		m.Kind = MergeRebase
	default:
		m.Kind = MergeSquash
	}
	m.Number, m.Title, m.Body, m.Author, m.Bot = p.Number, p.Title, p.Body, p.Author, p.Bot
	m.Head, m.Base = p.HeadBranch, p.Base
	m.FirstWork = earliest(m.FirstWork, FirstWork(p))
	return m
}

// earliest is the earlier of two moments; zero is unknown.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// enrich puts on k what only the server knows. The statement is not part of
// it: see statementOf.
func enrich(k *assay.Candidate, p Pull) {
	k.Author, k.Title, k.Updated, k.Reviewed = p.Author, p.Title, p.Updated, reviewed(p.Reviews)
	k.Labels = labels(p)
	if p.URL != "" {
		k.Source.URL = p.URL
	}
}

// labels are those of the pull request, then those of what it closes.
func labels(p Pull, more ...Issue) []string {
	out := slices.Clone(p.Labels)
	for _, i := range slices.Concat(p.Closes, more) {
		for _, l := range i.Labels {
			if !slices.Contains(out, l) {
				out = append(out, l)
			}
		}
	}
	return out
}

// reviewed is what the reviews come to: the last word of each reviewer
// counts, and one who wants changes outweighs those who approve.
func reviewed(all []ReviewState) string {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b ReviewState) int { return a.When.Compare(b.When) })
	last, commented := map[string]string{}, false
	for _, r := range all {
		switch r.State {
		case "APPROVED", "CHANGES_REQUESTED":
			last[r.Author] = r.State
		case "DISMISSED":
			delete(last, r.Author)
		case "COMMENTED":
			commented = true
		}
	}
	approved := false
	for _, state := range last {
		if state == "CHANGES_REQUESTED" {
			return "changes_requested"
		}
		approved = true
	}
	switch {
	case approved:
		return "approved"
	case commented:
		return "commented"
	}
	return ""
}

// closed are the issues that p closes, of its own repository if there is one.
func closed(p Pull, slug string) []Issue {
	own := slices.DeleteFunc(slices.Clone(p.Closes), func(i Issue) bool { return !sameSlug(i.Repo, slug) })
	if len(own) > 0 {
		return own
	}
	return p.Closes
}

// statementOf makes k's statement from p and the issues that it closes, as
// they stood before the first work on it.
func statementOf(k *assay.Candidate, p Pull, issues []Issue) {
	k.FirstWork = earliest(k.FirstWork, FirstWork(p))
	k.Statement, k.Doubts = MakeStatement(StatementInput{
		Pull: p, Issues: issues, FirstWork: k.FirstWork, Paths: paths(k.Files),
	})
	if k.Statement.Origin == "issue" {
		k.IssueDate = k.Statement.Created
	}
}

// Untold are the issues that candidates close by the words of their texts or
// commits, while the server's own list of closed issues lacks them. Ask for
// them, and see Complete.
func Untold(found []Found, o Options) []int {
	var out []int
	for _, f := range found {
		out = append(out, f.untold(o)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (f Found) untold(o Options) []int {
	if f.pull == nil || f.Status == assay.StatusRejected {
		return nil
	}
	slug := slugOf(*f.pull, o)
	return slices.DeleteFunc(Closes(f.Links), func(n int) bool {
		return slices.ContainsFunc(f.pull.Closes, func(i Issue) bool { return i.Number == n && sameSlug(i.Repo, slug) })
	})
}

// Complete makes the statements again of the candidates that close issues by
// words, now that their texts are known.
func Complete(found []Found, issues []Issue, o Options) {
	for n := range found {
		f := &found[n]
		var more []Issue
		for _, number := range f.untold(o) {
			if i := slices.IndexFunc(issues, func(i Issue) bool { return i.Number == number }); i >= 0 {
				more = append(more, issues[i])
			}
		}
		if len(more) == 0 {
			continue
		}
		slug := slugOf(*f.pull, o)
		own := slices.DeleteFunc(slices.Clone(f.pull.Closes), func(i Issue) bool { return !sameSlug(i.Repo, slug) })
		statementOf(&f.Candidate, *f.pull, append(own, more...))
		f.Doubts = append(f.Doubts, f.doubts...)
		f.Labels = labels(*f.pull, more...)
		f.Digest = DigestOf(f.Candidate)
	}
}

// linksOf are the links of a pull request: what the server says that it
// closes, with what its texts, branch and commits say.
func linksOf(p Pull, slug string, messages []string) []assay.Link {
	in := LinkInput{Repo: slug, Title: p.Title, Body: p.Body, Branch: p.HeadBranch, Commits: messages}
	for _, i := range p.Closes {
		in.Closing = append(in.Closing, IssueRef{Repo: i.Repo, Number: i.Number})
	}
	return others(Links(in), p.Number)
}

// others are links without those of a change to itself; nil for none, as they
// come back from a file.
func others(links []assay.Link, number int) []assay.Link {
	links = slices.DeleteFunc(links, func(l assay.Link) bool { return l.Repo == "" && l.Issue == number })
	if len(links) == 0 {
		return nil
	}
	return links
}

// Unfetchable is the rejected candidate of a pull request whose merge commit
// the main line doesn't hold; why is said to a person.
func Unfetchable(p Pull, o Options, why string) Found {
	slug := slugOf(p, o)
	k := assay.Candidate{
		Schema: assay.CandidateSchema, ID: fmt.Sprintf("pull-%d", p.Number), Repo: o.Repo,
		Status: assay.StatusRejected, Reason: assay.ReasonUnfetchable, Detail: shorten(why),
		Source: assay.Source{Kind: "pull", Number: p.Number, Commit: p.MergeCommit, Merged: p.Merged},
	}
	enrich(&k, p)
	k.Links = linksOf(p, slug, nil)
	k.Source.Issues = Closes(k.Links)
	statementOf(&k, p, closed(p, slug))
	k.Doubts = nil
	k.Digest = DigestOf(k)
	return Found{Candidate: k, Commits: []string{p.MergeCommit}}
}

// Open is the candidate of an open issue: parked, since nothing proves what
// would solve it. It is never built and counts in no rate.
func Open(i Issue, o Options) Found {
	k := assay.Candidate{
		Schema: assay.CandidateSchema, ID: fmt.Sprintf("issue-%d", i.Number), Repo: o.Repo,
		Status: assay.StatusMined, Reason: assay.ReasonOpenIssue, Detail: "no merged change closes it",
		Source: assay.Source{Kind: "issue", Number: i.Number, URL: i.URL},
		Author: i.Author, Title: i.Title, Labels: i.Labels, Updated: i.Updated, IssueDate: i.Created,
	}
	// Nobody has begun: the text is what it is by its last edit.
	k.Statement, k.Doubts = MakeStatement(StatementInput{Issues: []Issue{i}, FirstWork: i.Updated.Add(time.Second)})
	k.Digest = DigestOf(k)
	return Found{Candidate: k}
}

// Parked tells the candidates that only wait: see Open.
func Parked(c assay.Candidate) bool { return c.Reason == assay.ReasonOpenIssue }

// Unpark takes the parked issues away that pull requests have closed.
func Unpark(all []assay.Candidate, pulls []Pull, o Options) []assay.Candidate {
	done := map[string]bool{}
	for _, p := range pulls {
		for _, i := range p.Closes {
			if i.State == "CLOSED" && sameSlug(i.Repo, slugOf(p, o)) {
				done[fmt.Sprintf("issue-%d", i.Number)] = true
			}
		}
	}
	return slices.DeleteFunc(all, func(c assay.Candidate) bool { return Parked(c) && done[c.ID] })
}
