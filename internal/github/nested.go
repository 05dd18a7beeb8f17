package github

import (
	"context"
	"encoding/json"
	"fmt"
)

// more is a list that goes on behind its first page.
type more struct {
	id, kind string // node and its type
	list     string // field
	fragment string // of its fields
	cursor   string
	// add takes the next page: it returns the cursor of the one after, "" at
	// the end. An empty page is a node that was deleted meanwhile: its list
	// ends with what is known of it.
	add func(page json.RawMessage) (string, error)
}

// batch is how many lists one request goes on with.
const batch = 10

// follow is the work to complete a list; none when it is complete.
func follow[T any](owner string, kind, field, fragment string, l *list[T]) []more {
	if l == nil || !l.PageInfo.HasNextPage {
		return nil
	}
	m := more{id: owner, kind: kind, list: field, fragment: fragment, cursor: l.PageInfo.EndCursor}
	m.add = func(page json.RawMessage) (string, error) {
		if len(page) == 0 || string(page) == "null" {
			l.TotalCount = len(l.Nodes)
			return "", nil
		}
		var next list[T]
		if err := json.Unmarshal(page, &next); err != nil {
			return "", fmt.Errorf("decoding %s of %s: %w", field, owner, err)
		}
		l.Nodes, l.TotalCount, l.PageInfo = append(l.Nodes, next.Nodes...), next.TotalCount, next.PageInfo
		if !next.PageInfo.HasNextPage {
			return "", nil
		}
		return next.PageInfo.EndCursor, nil
	}
	return []more{m}
}

func (t *thread) follow(kind string) []more {
	out := follow(t.ID, kind, "labels", "Labels", t.Labels)
	out = append(out, follow(t.ID, kind, "comments", "Comments", t.Comments)...)
	return append(out, follow(t.ID, kind, "userContentEdits", "Edits", t.Edits)...)
}

func (i *issue) follow() []more { return i.thread.follow("Issue") }

func (p *pull) follow() []more {
	out := p.thread.follow("PullRequest")
	out = append(out, follow(p.ID, "PullRequest", "reviews", "Reviews", p.Reviews)...)
	return append(out, follow(p.ID, "PullRequest", "closingIssuesReferences", "Closes", p.Closes)...)
}

// complete follows lists to their ends, several by each request.
func (s *Source) complete(ctx context.Context, jobs []more) error {
	many, size := batch, 100
	for len(jobs) > 0 {
		some := jobs[:min(many, len(jobs))]
		var pages map[string]*struct{ Page json.RawMessage }
		err := s.graph.patient(ctx, func() bool {
			if many == 1 && size <= 10 {
				return false
			}
			many, size = max(1, many/2), max(10, size/2)
			some = jobs[:min(many, len(jobs))]
			return true
		}, func() error {
			pages = nil
			notes, err := s.graph.do(ctx, moreQuery(some, size), &pages)
			s.notes = append(s.notes, notes...)
			return err
		})
		if err != nil {
			return err
		}
		rest := jobs[len(some):]
		for n, j := range some {
			page := pages[fmt.Sprintf("n%d", n)]
			var next json.RawMessage
			if page != nil {
				next = page.Page
			}
			if j.cursor, err = j.add(next); err != nil {
				return err
			}
			if j.cursor != "" {
				rest = append(rest, j)
			}
		}
		jobs = rest
	}
	return nil
}

// short tells a list that holds less than the server says it should.
func short[T any](what string, l *list[T]) error {
	if l == nil || len(l.Nodes) >= l.TotalCount {
		return nil
	}
	return fmt.Errorf("%s: GitHub says %d and listed %d; run it again", what, l.TotalCount, len(l.Nodes))
}

func (t *thread) whole(what string) error {
	what = fmt.Sprintf("%s #%d: ", what, t.Number)
	if err := short(what+"labels", t.Labels); err != nil {
		return err
	}
	if err := short(what+"comments", t.Comments); err != nil {
		return err
	}
	return short(what+"edits", t.Edits)
}
