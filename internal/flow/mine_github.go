package flow

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
	"github.com/assaybot/assay/internal/mine"
)

// What candidates are made of.
const (
	SourcePulls  = "pulls"
	SourceIssues = "issues"
)

// MineTarget names a repository, and maybe the server that it is on.
type MineTarget struct{ Repo, API, Server string }

// TextServer is the server of one repository. Name is what it calls the
// repository, Clone an address for git, URL the repository's page. Open begins
// to read with the page size that an earlier run found to work, 0 for none.
type TextServer struct {
	Name, Clone, URL string
	Open             func(page int) PagedTexts
}

// PagedTexts are texts that come in pages.
type PagedTexts interface {
	mine.Texts
	// Numbered tells the issues of some numbers, whatever their state; what is
	// no issue is left out.
	Numbered(ctx context.Context, numbers []int, yield func(mine.Issue) error) error
	// Page is the size of a page that worked.
	Page() int
	// Notes tell what could not be seen.
	Notes() []string
}

// textOverlap is how far before its cursor a server is asked again: its lists
// may lag behind what it does.
const textOverlap = 2 * time.Minute

func (r MineRequest) pulls() bool {
	return len(r.Source) == 0 || slices.Contains(r.Source, SourcePulls)
}

func (r MineRequest) issues() bool { return slices.Contains(r.Source, SourceIssues) }

// server finds the server that a request is for, nil for git alone. A folder
// of this machine is one even where its name could be a server's.
func (f *Flow) server(ctx context.Context, r MineRequest) (*TextServer, error) {
	told := r.Clone != "" || r.API != "" || r.Server != ""
	var s *TextServer
	if f.Texts != nil && (told || !isDir(r.Repo)) {
		var err error
		if s, err = f.Texts(ctx, MineTarget{Repo: r.Repo, API: r.API, Server: r.Server}); err != nil {
			return nil, err
		}
	}
	if s == nil && (told || r.issues()) {
		return nil, assay.Userf("%q is no repository on GitHub, which --clone, --api, --server and --source issues need; write --repo OWNER/NAME or its address", r.Repo)
	}
	return s, nil
}

// place is where git finds the repository.
func (s *TextServer) place(r MineRequest) string { return cmp.Or(r.Clone, s.Clone) }

// heard is what a server told in one run, and the cursors after it. follows:
// it goes on where an earlier run ended.
type heard struct {
	texts   PagedTexts
	pulls   []mine.Pull
	issues  []mine.Issue
	marks   map[string]candidates.Mark
	follows bool
}

// hear asks the server for what is new since the cursors. Without candidates
// no cursor counts.
func (m *mining) hear(ctx context.Context, marks map[string]candidates.Mark, have []assay.Candidate) error {
	if m.server == nil {
		return nil
	}
	m.req.URL = cmp.Or(m.req.URL, m.server.URL)
	place, err := absolute(m.server.place(m.req))
	if err != nil {
		return err
	}
	m.opts.URL, m.opts.Repo, m.sum.Repo = mine.WebURL(m.req.URL), place, m.server.Name
	if len(have) == 0 {
		marks = nil
	}
	pulls, issues := m.textKey(SourcePulls), m.textKey(SourceIssues)
	m.heard = heard{marks: map[string]candidates.Mark{}, texts: m.server.Open(cmp.Or(marks[pulls].Page, marks[issues].Page))}
	if m.req.pulls() {
		if err := m.hearPulls(ctx, marks[pulls], have); err != nil {
			return err
		}
	}
	if m.req.issues() {
		at, from, _ := m.cursor(marks[issues])
		err := m.heard.texts.Issues(ctx, from, func(i mine.Issue) error {
			m.heard.issues = append(m.heard.issues, i)
			at.Updated, at.Number = i.Updated, i.Number
			return nil
		})
		if err != nil {
			return err
		}
		m.heard.marks[issues] = at
	}
	return nil
}

// hearPulls leaves out what candidates already tell in the same state.
func (m *mining) hearPulls(ctx context.Context, mark candidates.Mark, have []assay.Candidate) error {
	at, from, follows := m.cursor(mark)
	known := map[int]time.Time{}
	for _, c := range have {
		if follows && c.Source.Kind == "pull" && c.Reason != assay.ReasonUnfetchable {
			known[c.Source.Number] = c.Updated
		}
	}
	m.heard.follows = follows
	err := m.heard.texts.Pulls(ctx, from, func(p mine.Pull) error {
		at.Updated, at.Number = p.Updated, p.Number
		if !p.Updated.Equal(known[p.Number]) {
			m.heard.pulls = append(m.heard.pulls, p)
		}
		return nil
	})
	m.heard.marks[m.textKey(SourcePulls)] = at
	return err
}

// complete asks for the issues that candidates name in words alone.
func (m *mining) complete(ctx context.Context, found []mine.Found) error {
	if m.server == nil {
		return nil
	}
	if numbers := mine.Untold(found, m.opts); len(numbers) > 0 {
		var issues []mine.Issue
		err := m.heard.texts.Numbered(ctx, numbers, func(i mine.Issue) error { issues = append(issues, i); return nil })
		if err != nil {
			return err
		}
		mine.Complete(found, issues, m.opts)
	}
	for key, at := range m.heard.marks {
		at.Page = m.heard.texts.Page()
		m.heard.marks[key] = at
	}
	m.sum.Notes = append(m.sum.Notes, m.heard.texts.Notes()...)
	return nil
}

// textKey names the cursor of a source by all that decides what it brings.
func (m *mining) textKey(source string) string {
	key := "github " + source + " " + mineRules + " " + m.server.Name
	if source == SourceIssues {
		return key
	}
	key += " " + cmp.Or(m.req.Branch, "HEAD")
	if m.opts.Base == mine.BaseCutoff {
		key += " from " + m.opts.Since.Format(time.RFC3339)
	}
	return key
}

// cursor is where a source goes on: at its mark, unless the run asks for what
// is older than it began with.
func (m *mining) cursor(mark candidates.Mark) (at candidates.Mark, from mine.Cursor, follows bool) {
	if mark.Updated.IsZero() || m.opts.Since.Before(mark.Since) {
		return candidates.Mark{Updated: m.opts.Since, Since: m.opts.Since}, mine.Cursor{Updated: m.opts.Since}, false
	}
	return mark, mine.Cursor{Updated: mark.Updated.Add(-textOverlap)}, true
}

// sort hands the pull requests to mining: those of this branch, and those of
// others. A branch that is gone may be this one's former name: then the commit
// decides.
func (h *heard) sort(ctx context.Context, m *mining) {
	there := map[string]bool{}
	for _, p := range h.pulls {
		if !m.into(p) {
			if _, asked := there[p.Base]; !asked {
				there[p.Base] = m.hasBranch(ctx, p.Base)
			}
			if there[p.Base] {
				m.opts.Told.Elsewhere(p)
				continue
			}
		}
		m.opts.Told.Join(p)
	}
}

// into tells whether p was merged into the branch that is mined.
func (m *mining) into(p mine.Pull) bool {
	if m.req.Branch == "" {
		return p.Default
	}
	return p.Base == m.req.Branch
}

func (m *mining) hasBranch(ctx context.Context, name string) bool {
	for _, ref := range []string{"refs/heads/", "refs/remotes/origin/"} {
		if _, err := m.repo.Resolve(ctx, ref+name); err == nil {
			return true
		}
	}
	return false
}

// seen are the commits that an earlier run looked at and this one looks at
// again; the server has told whose they are by then.
func (m *mining) seen(ctx context.Context, last string) (map[string]bool, error) {
	out := map[string]bool{}
	if m.server == nil || last == "" {
		return out, nil
	}
	q := mine.Query{Branch: last, After: m.opts.After, Since: m.opts.Since}
	err := m.repo.Changes(ctx, q, func(c mine.Change) error { out[c.Commit] = true; return nil })
	return out, err
}

// late adds the pull requests of the branch whose commits were not among what
// was found: an earlier run saw them, or they aren't there.
func (m *mining) late(ctx context.Context, found []mine.Found, have []assay.Candidate) ([]mine.Found, error) {
	at := places{commit: map[string]bool{}, number: map[int]string{}}
	for _, c := range have {
		at.number[c.Source.Number] = c.Source.Commit
	}
	for _, f := range found {
		at.number[f.Source.Number] = f.Source.Commit
		for _, c := range f.Commits {
			at.commit[c] = true
		}
	}
	behind := 0
	for _, p := range m.heard.pulls {
		if !m.into(p) || at.commit[p.MergeCommit] || !m.wanted(p, at) {
			continue
		}
		f, ok, err := m.alone(ctx, p, at)
		if err != nil {
			return nil, err
		}
		if !ok {
			f = mine.Unfetchable(p, m.opts, m.whyGone(ctx, p, &behind))
		}
		found = append(slices.DeleteFunc(found, func(o mine.Found) bool { return o.Source.Commit == f.Source.Commit }), f)
	}
	if behind > 0 {
		m.sum.Notes = append(m.sum.Notes, fmt.Sprintf("%d pull requests were merged after the last commit of %s; run 'git fetch' in it (and move its branch), then mine again", behind, m.opts.Repo))
	}
	return found, nil
}

// places are where changes were found, in this run and before: all commits of
// this run, and the last commit by number.
type places struct {
	commit map[string]bool
	number map[int]string
}

// wanted tells whether p was merged in the time that is asked for, or is known
// already.
func (m *mining) wanted(p mine.Pull, at places) bool {
	if at.number[p.Number] != "" {
		return true
	}
	return !p.Merged.Before(m.opts.Since) && (m.opts.Until.IsZero() || !p.Merged.After(m.opts.Until))
}

// mostRow bounds how many commits are looked at for one pull request.
const mostRow = 100

// alone finds the change of one pull request, by its merge commit or, if that
// is gone, by the number in a commit's message. It is false where the branch
// holds neither.
func (m *mining) alone(ctx context.Context, p mine.Pull, at places) (f mine.Found, ok bool, err error) {
	commit := p.MergeCommit
	if !m.holds(ctx, commit) {
		if commit = at.number[p.Number]; !m.holds(ctx, commit) {
			return f, false, nil
		}
		m.opts.Told.JoinByNumber(p)
	}
	o := m.opts
	o.Since, o.Until, o.Branch = time.Time{}, time.Time{}, commit
	o.After, _ = m.repo.Resolve(ctx, fmt.Sprintf("%s~%d", commit, max(1, min(p.Commits, mostRow))))
	got, err := mine.Mine(ctx, m.repo, o)
	if err != nil {
		return f, false, err
	}
	for _, f := range got.Found {
		if slices.Contains(f.Commits, commit) {
			return f, true, nil
		}
	}
	return f, false, nil
}

// holds tells whether a commit is there and is part of the branch.
func (m *mining) holds(ctx context.Context, commit string) bool {
	if commit == "" {
		return false
	}
	if _, err := m.repo.Resolve(ctx, commit); err != nil {
		return false
	}
	tip := m.tip(ctx)
	outside := false
	err := m.repo.Changes(ctx, mine.Query{Branch: commit, After: tip}, func(mine.Change) error { outside = true; return nil })
	return err == nil && !outside
}

// tip is the last commit of the branch, "" when there is none.
func (m *mining) tip(ctx context.Context) string {
	if m.last == "" {
		// A clock may have been wrong, but hardly by a lifetime.
		if tip, err := m.repo.Before(ctx, m.req.Branch, m.flow.Now().AddDate(100, 0, 0).Unix()); err == nil {
			m.last = tip
		}
	}
	return m.last
}

// whyGone says why a pull request's commit isn't there. A clone of the user's
// may just end before it: then the cursor stays there.
func (m *mining) whyGone(ctx context.Context, p mine.Pull, behind *int) string {
	if p.MergeCommit == "" {
		return "GitHub tells no merge commit"
	}
	if last, err := m.repo.Before(ctx, m.req.Branch, p.Merged.Unix()-1); m.req.Clone != "" && err == nil && last == m.tip(ctx) {
		*behind++
		m.hold(p)
		return "the clone ends before the merge commit " + p.MergeCommit
	}
	return "the branch does not hold the merge commit " + p.MergeCommit + "; was its history rewritten?"
}

// hold keeps the cursor from passing p.
func (m *mining) hold(p mine.Pull) {
	key := m.textKey(SourcePulls)
	if at := m.heard.marks[key]; p.Updated.Before(at.Updated) {
		at.Updated, at.Number = p.Updated, p.Number
		m.heard.marks[key] = at
	}
}
