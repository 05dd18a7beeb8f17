package flow

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
	"github.com/assaybot/assay/internal/mine"
)

// MineRequest asks for candidates from a repository's history.
type MineRequest struct {
	// Repo is a folder of this machine, or an address.
	Repo string
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
}

// mineRules is the version of mining's rules; a cursor of another one is not
// followed, so that all is looked at again.
const mineRules = "1"

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
	repo, err := f.Repos(ctx, r.Repo)
	if err != nil {
		return MineSummary{}, err
	}
	if opts, err = located(ctx, repo, r, opts); err != nil {
		return MineSummary{}, err
	}
	store := candidates.At(r.Out)
	run := mining{repo: repo, store: store, opts: opts, sum: MineSummary{Repo: opts.Repo, Since: opts.Since, File: store.Path()}}
	err = store.Update(f.Owner, func(have []assay.Candidate) ([]assay.Candidate, error) { return run.over(ctx, have) })
	if err != nil || run.marks == nil {
		return run.sum, err
	}
	// Only now: a cursor must never be ahead of the candidates.
	return run.sum, store.SaveMarks(run.marks)
}

// mining is one run over a store. marks are the cursors after it, nil where
// they stay.
type mining struct {
	repo  Repository
	store candidates.Store
	opts  mine.Options
	sum   MineSummary
	marks map[string]candidates.Mark
}

func (m *mining) over(ctx context.Context, have []assay.Candidate) ([]assay.Candidate, error) {
	if err := m.sameRepository(ctx, have); err != nil {
		return have, err
	}
	marks, err := m.store.Marks()
	if err != nil {
		return have, err
	}
	key := markKey(m.opts)
	next := candidates.Mark{Updated: m.opts.Since}
	if mark, ok := marks[key]; ok && len(have) > 0 && !m.opts.Since.Before(mark.Updated) {
		next.Updated = mark.Updated
		// A commit that is gone was rewritten: then all is looked at.
		m.opts.After, _ = m.repo.Resolve(ctx, fmt.Sprintf("%s~%d", mark.Commit, mineOverlap))
	}
	found, err := mine.Mine(ctx, m.repo, m.opts)
	if err != nil {
		return have, err
	}
	all, delta := mine.Upsert(have, found.Found)
	m.sum.Looked, m.sum.Added, m.sum.Changed, m.sum.Same = found.Changes, delta.Added, delta.Changed, delta.Same
	m.sum.Candidates, m.sum.Yield = all, mine.YieldOf(all)
	if next.Commit = found.Last; next.Commit != "" {
		marks[key] = next
		m.marks = marks
	}
	return all, nil
}

// markKey names a cursor by all that decides what a run finds.
func markKey(o mine.Options) string {
	branch := o.Branch
	if branch == "" {
		branch = "HEAD"
	}
	key := "git " + mineRules + " " + branch
	if o.Base == mine.BaseCutoff {
		key += " from " + o.Cutoff
	}
	return key
}

// sameRepository refuses to mix the candidates of two repositories in one
// file; a clone that moved is known by its commits.
func (m *mining) sameRepository(ctx context.Context, have []assay.Candidate) error {
	for _, c := range have {
		if c.Repo == m.opts.Repo || c.Source.Commit == "" {
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
	o.Repo = r.Repo
	if isDir(r.Repo) {
		abs, err := filepath.Abs(r.Repo)
		if err != nil {
			return o, fmt.Errorf("finding %s: %w", r.Repo, err)
		}
		o.Repo = abs
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
