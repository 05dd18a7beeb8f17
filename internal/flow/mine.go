package flow

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
	"github.com/assaybot/assay/internal/mine"
)

// MineRequest asks for candidates from a repository's history.
type MineRequest struct {
	// Repo is a folder of this machine, an address, or a name on a server:
	// then the server tells the texts.
	Repo string
	// Clone is a clone of a server's repository that is there already; "" for
	// one that is kept in the cache.
	Clone string
	// API and Server are a server's addresses; "" is what the environment says.
	API, Server string
	// Source are what candidates are made of: pulls, issues; none is pulls.
	Source []string
	// Since and Until bound the moment of the merge: 2025-09-01, a moment of
	// RFC 3339, or an age such as 90d. Until may be empty.
	Since, Until string
	Branch       string
	// Base is the rule of the base: parent (default) or cutoff.
	Base string
	// Out is the file of candidates.
	Out string
	// URL is the repository's page, for links; "" asks its origin.
	URL string
}

// MineSummary is what a run of mining found.
type MineSummary struct {
	Repo  string    `json:"repository"`
	Since time.Time `json:"since"`
	File  string    `json:"file"`
	// Looked counts the commits that this run looked at.
	Looked     int               `json:"looked_at"`
	Added      []string          `json:"added"`
	Changed    []string          `json:"changed"`
	Same       int               `json:"unchanged"`
	Yield      mine.Yield        `json:"yield"`
	Candidates []assay.Candidate `json:"candidates"`
	// Notes are what could not be seen, for a person.
	Notes []string `json:"notes,omitempty"`
}

// mineRules is the version of mining's rules; a cursor of another one is not
// followed, so that all is looked at again.
const mineRules = "2"

// mineOverlap is how many commits of the main line are looked at again, since
// a rebased pull request may go on after the cursor.
const mineOverlap = 5

// Mine looks at what was merged since a date and lays it over the candidates
// of a file. A second run looks only at what is new.
func (f *Flow) Mine(ctx context.Context, r MineRequest) (MineSummary, error) {
	opts, err := r.options(f.Now())
	if err != nil {
		return MineSummary{}, err
	}
	if f.Repos == nil {
		return MineSummary{}, errNoRepos
	}
	store := candidates.At(r.Out)
	run := mining{flow: f, req: r, store: store, opts: opts, sum: MineSummary{Repo: r.Repo, Since: opts.Since, File: store.Path()}}
	if run.server, err = f.server(ctx, r); err != nil {
		return MineSummary{}, err
	}
	if run.server == nil {
		if err := run.open(ctx, r.Repo); err != nil {
			return MineSummary{}, err
		}
	}
	err = store.Update(f.Owner, func(have []assay.Candidate) ([]assay.Candidate, error) { return run.over(ctx, have) })
	if err != nil || run.marks == nil {
		return run.sum, err
	}
	// Only now: a cursor must never be ahead of the candidates.
	return run.sum, store.SaveMarks(run.marks)
}

// mining is one run over a store. server is nil for git alone. marks are the
// cursors after it, nil where they stay.
type mining struct {
	flow   *Flow
	req    MineRequest
	server *TextServer
	heard  heard
	repo   Repository
	store  candidates.Store
	opts   mine.Options
	sum    MineSummary
	marks  map[string]candidates.Mark
	last   string // commit of the branch, once it was asked for
}

// open finds the repository by path or address, and what it alone knows.
func (m *mining) open(ctx context.Context, name string) (err error) {
	if m.repo, err = m.flow.Repos(ctx, name); err != nil {
		return err
	}
	r := m.req
	r.Repo = name
	m.opts, err = located(ctx, m.repo, r, m.opts)
	m.sum.Repo = m.opts.Repo
	return err
}

func (m *mining) over(ctx context.Context, have []assay.Candidate) ([]assay.Candidate, error) {
	marks, err := m.store.Marks()
	if err != nil {
		return have, err
	}
	// The server is asked before git is: what is merged between the two has a
	// commit and no text yet, which the next run brings.
	if err := m.hear(ctx, marks, have); err != nil {
		return have, err
	}
	var found []mine.Found
	if m.req.pulls() {
		if found, err = m.dig(ctx, marks, have); err != nil {
			return have, err
		}
	}
	if err := m.complete(ctx, found); err != nil {
		return have, err
	}
	for _, i := range m.heard.issues {
		found = append(found, mine.Open(i, m.opts))
	}
	all, delta := mine.Upsert(have, found)
	all = mine.Unpark(all, m.heard.pulls, m.opts)
	m.sum.Added, m.sum.Changed, m.sum.Same = delta.Added, delta.Changed, delta.Same
	m.sum.Candidates, m.sum.Yield = all, mine.YieldOf(all)
	for key, mark := range m.heard.marks {
		m.mark(marks, key, mark)
	}
	return all, nil
}

// mark notes a cursor to be kept.
func (m *mining) mark(marks map[string]candidates.Mark, key string, mark candidates.Mark) {
	marks[key] = mark
	m.marks = marks
}

// dig reads the history, and joins what the server told with it.
func (m *mining) dig(ctx context.Context, marks map[string]candidates.Mark, have []assay.Candidate) ([]mine.Found, error) {
	if m.repo == nil {
		if err := m.open(ctx, m.server.place(m.req)); err != nil {
			return nil, err
		}
	}
	if err := m.sameRepository(ctx, have); err != nil {
		return nil, err
	}
	key := markKey(m.opts)
	next := candidates.Mark{Updated: m.opts.Since}
	last, err := m.goOn(ctx, marks[key], have)
	if err != nil {
		return nil, err
	}
	if last != "" {
		next.Updated = marks[key].Updated
	}
	again, err := m.seen(ctx, last)
	if err != nil {
		return nil, err
	}
	m.heard.sort(ctx, m)
	found, err := mine.Mine(ctx, m.repo, m.opts)
	if err != nil {
		return nil, err
	}
	m.sum.Looked = found.Changes
	if next.Commit = found.Last; next.Commit != "" {
		m.mark(marks, key, next)
	}
	news := slices.DeleteFunc(found.Found, func(f mine.Found) bool {
		return f.Updated.IsZero() && !slices.ContainsFunc(f.Commits, func(c string) bool { return !again[c] })
	})
	return m.late(ctx, news, have)
}

// goOn finds where the history is read from: a little before the commit that
// an earlier run saw last, which it returns. It is "" where all is read; then
// all that the server knows is needed too.
func (m *mining) goOn(ctx context.Context, mark candidates.Mark, have []assay.Candidate) (last string, err error) {
	if mark.Commit != "" && len(have) > 0 && !m.opts.Since.Before(mark.Updated) && (m.server == nil || m.heard.follows) {
		// A commit that is gone was rewritten.
		if last, err = m.repo.Resolve(ctx, mark.Commit); err == nil {
			m.opts.After, _ = m.repo.Resolve(ctx, fmt.Sprintf("%s~%d", last, mineOverlap))
			return last, nil
		}
	}
	if m.heard.follows {
		return "", m.hear(ctx, nil, have)
	}
	return "", nil
}

// markKey names a cursor by all that decides what a run finds.
func markKey(o mine.Options) string {
	branch := o.Branch
	if branch == "" {
		branch = "HEAD"
	}
	key := "git " + mineRules + " " + branch
	if o.URL != "" {
		key += " of " + o.URL // whose issues the links name
	}
	if o.Base == mine.BaseCutoff {
		key += " from " + o.Cutoff
	}
	return key
}

// sameRepository refuses to mix the candidates of two repositories in one
// file; a clone that moved is known by its commits.
func (m *mining) sameRepository(ctx context.Context, have []assay.Candidate) error {
	for _, c := range have {
		if c.Repo == m.opts.Repo || c.Source.Commit == "" || c.Reason == assay.ReasonUnfetchable {
			continue
		}
		if _, err := m.repo.Resolve(ctx, c.Source.Commit); err != nil {
			return assay.Userf("%s holds candidates of %s; name another file with --out for %s", m.store.Path(), c.Repo, m.opts.Repo)
		}
		return nil
	}
	return nil
}

// located fills what only the repository knows.
func located(ctx context.Context, repo Repository, r MineRequest, o mine.Options) (mine.Options, error) {
	var err error
	if o.Repo, err = absolute(r.Repo); err != nil {
		return o, err
	}
	if o.URL = mine.WebURL(r.URL); r.URL == "" {
		o.URL = mine.WebURL(repo.URL(ctx))
	}
	if err := hasBranch(ctx, repo, r); err != nil {
		return o, err
	}
	if o.Base != mine.BaseCutoff {
		return o, nil
	}
	cutoff, err := repo.Before(ctx, r.Branch, o.Since.Unix()-1)
	if err != nil {
		return o, assay.Userf("there is no commit before %s to start from; take a later --since or --base parent", o.Since.Format(time.RFC3339))
	}
	o.Cutoff = cutoff
	return o, nil
}

// absolute is a folder's name from anywhere; an address stays as it is.
func absolute(name string) (string, error) {
	if !isDir(name) {
		return name, nil
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", name, err)
	}
	return abs, nil
}

func hasBranch(ctx context.Context, repo Repository, r MineRequest) error {
	if r.Branch == "" {
		if _, err := repo.Resolve(ctx, "HEAD"); err != nil {
			return assay.Userf("%s has no commits on its current branch; name one with --branch", r.Repo)
		}
		return nil
	}
	if _, err := repo.Resolve(ctx, r.Branch); err != nil {
		return assay.Userf("there is no branch %q in %s", r.Branch, r.Repo)
	}
	return nil
}

// options checks what the user asked for and tells all faults at once.
func (r MineRequest) options(now time.Time) (mine.Options, error) {
	o := mine.Options{Branch: r.Branch, Base: r.Base, Now: now}
	var problems assay.Problems
	for _, s := range r.Source {
		if s != SourcePulls && s != SourceIssues {
			problems.Addf("", 0, "--source is pulls, issues or both with a comma, not %q", s)
		}
	}
	if r.Repo == "" {
		problems.Addf("", 0, "name the repository with --repo")
	}
	if o.Base == "" {
		o.Base = mine.BaseParent
	}
	if o.Base != mine.BaseParent && o.Base != mine.BaseCutoff {
		problems.Addf("", 0, "--base is parent or cutoff, not %q", r.Base)
	}
	var err error
	if o.Since, err = ParseDate(r.Since, now); err != nil {
		problems.Addf("", 0, "--since: %v", err)
	} else if o.Since.After(now) {
		problems.Addf("", 0, "--since: %s is in the future", r.Since)
	}
	if r.Until == "" {
		return o, problems.Err()
	}
	if o.Until, err = ParseDate(r.Until, now); err != nil {
		problems.Addf("", 0, "--until: %v", err)
		return o, problems.Err()
	}
	if len(r.Until) == len(time.DateOnly) {
		// The day itself belongs to what is asked for.
		o.Until = o.Until.Add(24*time.Hour - time.Second)
	}
	if o.Until.Before(o.Since) {
		problems.Addf("", 0, "--until: %s is before --since", r.Until)
	}
	return o, problems.Err()
}

var age = regexp.MustCompile(`^(\d{1,5})([dwmy])$`)

// ParseDate reads a day (2025-09-01, its beginning in UTC), a moment of
// RFC 3339, or an age before now (90d, 12w, 6m, 1y; from the beginning of that
// day in UTC, so that the same age means the same moment all day).
func ParseDate(text string, now time.Time) (time.Time, error) {
	if text = strings.TrimSpace(text); text == "" {
		return time.Time{}, assay.Userf("a date is needed, such as 2025-09-01 or 90d")
	}
	if m := age.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		day := now.UTC().Truncate(24 * time.Hour)
		switch m[2] {
		case "d":
			return day.AddDate(0, 0, -n), nil
		case "w":
			return day.AddDate(0, 0, -7*n), nil
		case "m":
			return day.AddDate(0, -n, 0), nil
		}
		return day.AddDate(-n, 0, 0), nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, assay.Userf("%q is no date; write 2025-09-01, 2025-09-01T12:00:00Z or an age such as 90d", text)
}
