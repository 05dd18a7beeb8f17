package github

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/assaybot/assay/internal/mine"
)

var _ mine.Texts = (*Source)(nil)

// State is what a source has learned, to be kept for the next run.
type State struct {
	// Page is the page size that the server managed; 0 is not known.
	Page int `json:"page,omitempty"`
}

// Source reads one repository's merged pull requests and open issues. It is
// not safe for concurrent use.
type Source struct {
	graph graph
	repo  Repo
	page  int
	notes []string
}

// The sizes of a page: at first, and the least.
const (
	firstPage = 50
	leastPage = 1
)

// NewSource reads repo through t, beginning with what an earlier run learned.
func NewSource(t *Transport, repo Repo, s State) *Source {
	page := firstPage
	if s.Page > 0 && s.Page <= 100 {
		page = s.Page
	}
	return &Source{graph: graph{t}, repo: repo, page: page}
}

// State is what to give NewSource the next time.
func (s *Source) State() State { return State{Page: s.page} }

// Notes are what could not be seen, such as an issue of another organization
// that a pull request closes.
func (s *Source) Notes() []string { return slices.Clone(s.notes) }

// Pulls reads from the newest update back to the cursor, and yields oldest
// first, so that nothing is yielded of a sweep that failed. What is updated
// meanwhile is looked for once more at the end.
func (s *Source) Pulls(ctx context.Context, after mine.Cursor, yield func(mine.Pull) error) error {
	branch := ""
	all, err := sweep(ctx, s, scan[pull]{
		what: "merged pull requests", query: pullsQuery, after: after.Updated, branch: &branch,
		thread: func(p *pull) *thread { return &p.thread },
	})
	if err != nil {
		return err
	}
	if err := s.finishPulls(ctx, all); err != nil {
		return fmt.Errorf("reading pull requests of %s: %w", s.repo, err)
	}
	for _, p := range all {
		if err := yield(p.noun(branch)); err != nil {
			return err
		}
	}
	return nil
}

// finishPulls completes the lists of pull requests, and then those of the
// issues that they close.
func (s *Source) finishPulls(ctx context.Context, all []*pull) error {
	var jobs []more
	for _, p := range all {
		jobs = append(jobs, p.follow()...)
	}
	if err := s.complete(ctx, jobs); err != nil {
		return err
	}
	closed := shared(all)
	for _, p := range all {
		if err := cmp.Or(p.whole("pull request"), short(fmt.Sprintf("pull request #%d: reviews", p.Number), p.Reviews)); err != nil {
			return err
		}
		// An issue that can't be seen may be counted and not listed.
		if err := short(fmt.Sprintf("pull request #%d: closed issues", p.Number), p.Closes); err != nil {
			s.notes = append(s.notes, err.Error())
		}
	}
	return s.finishIssues(ctx, closed)
}

// shared are the closed issues, each once: those that several pull requests
// close become one and the same value.
func shared(all []*pull) []*issue {
	var out []*issue
	known := map[string]*issue{}
	for _, p := range all {
		if p.Closes == nil {
			continue
		}
		for n, i := range p.Closes.Nodes {
			switch {
			case i == nil:
			case known[i.ID] != nil:
				p.Closes.Nodes[n] = known[i.ID]
			default:
				known[i.ID] = i
				out = append(out, i)
			}
		}
	}
	return out
}

func (s *Source) finishIssues(ctx context.Context, all []*issue) error {
	var jobs []more
	for _, i := range all {
		jobs = append(jobs, i.follow()...)
	}
	if err := s.complete(ctx, jobs); err != nil {
		return err
	}
	for _, i := range all {
		if err := i.whole("issue " + i.Repository.NameWithOwner); err != nil {
			return err
		}
	}
	return nil
}

// Issues works as Pulls does.
func (s *Source) Issues(ctx context.Context, after mine.Cursor, yield func(mine.Issue) error) error {
	branch := ""
	all, err := sweep(ctx, s, scan[issue]{
		what: "open issues", query: issuesQuery, after: after.Updated, since: true, branch: &branch,
		thread: func(i *issue) *thread { return &i.thread },
	})
	if err != nil {
		return err
	}
	if err := s.finishIssues(ctx, all); err != nil {
		return fmt.Errorf("reading issues of %s: %w", s.repo, err)
	}
	for _, i := range all {
		if err := yield(i.noun()); err != nil {
			return err
		}
	}
	return nil
}

// scan says what a sweep reads.
type scan[T any] struct {
	what   string
	query  string
	after  time.Time
	since  bool // the query takes the time, and its total counts from there
	branch *string
	thread func(*T) *thread
}

// swept is what a sweep has seen so far.
type swept[T any] struct {
	byNumber map[int]*T
	unseen   int // nodes that the token may not see
	total    int
	ended    bool // it reached the end of the list, not only the cursor
}

// sweep reads pages from the newest update on, until the cursor.
func sweep[T any](ctx context.Context, s *Source, q scan[T]) ([]*T, error) {
	got := swept[T]{byNumber: map[int]*T{}}
	cursor, pages := "", 0
	for {
		page, err := read(ctx, s, q, cursor)
		if err != nil {
			return nil, fmt.Errorf("reading %s of %s: %w", q.what, s.repo, err)
		}
		pages++
		got.total = page.TotalCount
		_, passed := take(q, &got, page)
		got.ended = !page.PageInfo.HasNextPage
		if passed || got.ended {
			break
		}
		cursor = page.PageInfo.EndCursor
	}
	if pages > 1 {
		if err := recheck(ctx, s, q, &got); err != nil {
			return nil, fmt.Errorf("reading %s of %s: %w", q.what, s.repo, err)
		}
	}
	if n := len(got.byNumber) + got.unseen; got.ended && (q.since || q.after.IsZero()) && n < got.total {
		return nil, fmt.Errorf("GitHub says that %s has %d %s and listed %d; run it again", s.repo, got.total, q.what, n)
	}
	return q.sorted(got), nil
}

// take adds a page; fresh is how many of it were new or changed, passed tells
// that it reached behind the cursor.
func take[T any](q scan[T], got *swept[T], page *list[T]) (fresh int, passed bool) {
	for _, n := range page.Nodes {
		if n == nil {
			got.unseen++
			continue
		}
		updated, number := q.thread(n).at()
		if updated.Before(q.after) {
			passed = true
			continue
		}
		old := got.byNumber[number]
		if old == nil || q.thread(old).UpdatedAt.Before(updated) {
			got.byNumber[number] = n
			fresh++
		}
	}
	return fresh, passed
}

// recheck reads the newest once more, until a page brings nothing new: what
// was updated during the sweep has moved there, maybe before it was seen.
func recheck[T any](ctx context.Context, s *Source, q scan[T], got *swept[T]) error {
	cursor, unseen := "", got.unseen
	for {
		page, err := read(ctx, s, q, cursor)
		if err != nil {
			return err
		}
		got.total = page.TotalCount
		fresh, _ := take(q, got, page)
		got.unseen = unseen
		if fresh < len(page.Nodes) || !page.PageInfo.HasNextPage {
			return nil
		}
		cursor = page.PageInfo.EndCursor
	}
}

// sorted are the things by (updated, number).
func (q scan[T]) sorted(got swept[T]) []*T {
	out := make([]*T, 0, len(got.byNumber))
	for _, n := range got.byNumber {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b *T) int {
		ua, na := q.thread(a).at()
		ub, nb := q.thread(b).at()
		return cmp.Or(ua.Compare(ub), cmp.Compare(na, nb))
	})
	return out
}

// read asks for one page, half as large each time that the server can't.
func read[T any](ctx context.Context, s *Source, q scan[T], cursor string) (*list[T], error) {
	vars := map[string]any{"owner": s.repo.Owner, "name": s.repo.Name}
	if cursor != "" {
		vars["after"] = cursor
	}
	if q.since && !q.after.IsZero() {
		vars["since"] = q.after.UTC().Format(time.RFC3339)
	}
	var out struct {
		Repository *struct {
			NameWithOwner    string
			DefaultBranchRef *struct{ Name string }
			Page             *list[T]
		}
	}
	err := s.graph.patient(ctx, s.halve, func() error {
		vars["first"] = s.page
		notes, err := s.graph.do(ctx, operation{text: q.query, vars: vars}, &out)
		s.notes = append(s.notes, notes...)
		return err
	})
	if err != nil {
		return nil, err
	}
	if out.Repository == nil || out.Repository.Page == nil {
		return nil, &GraphError{Texts: []string{"the reply holds no list"}}
	}
	if ref := out.Repository.DefaultBranchRef; ref != nil {
		*q.branch = ref.Name
	}
	return out.Repository.Page, nil
}

// halve makes the page smaller; false when it is the least.
func (s *Source) halve() bool {
	if s.page <= leastPage {
		return false
	}
	s.page = max(leastPage, s.page/2)
	return true
}
