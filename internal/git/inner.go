package git

import (
	"cmp"
	"context"
	"slices"

	"github.com/assaybot/assay/internal/mine"
)

// innerMost bounds how many commits of a merge are told; a merge of more is
// a merge of branches, which mining tells by their number.
const innerMost = 300

// merges tells which commits each merge of the main line brought in. It reads
// all of them at once when the first merge comes, instead of asking git for
// each merge.
type merges struct {
	repo   *Repo
	branch string
	left   map[string]node // commits that no merge has claimed
}

// node is a commit off the main line; at is its place in git's order.
type node struct {
	at      int
	parents []string
	commit  mine.InnerCommit
}

// inner claims what c brought in: all that is reached from its other parents
// and from no earlier commit of the main line. It must be called for every
// change, oldest first.
func (m *merges) inner(ctx context.Context, c mine.Change) ([]mine.InnerCommit, error) {
	delete(m.left, c.Commit)
	if len(c.Parents) < 2 {
		return nil, nil
	}
	if m.left == nil {
		if err := m.load(ctx, c); err != nil {
			return nil, err
		}
	}
	var found []node
	for todo := slices.Clone(c.Parents[1:]); len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n, ok := m.left[id]
		if !ok {
			continue
		}
		delete(m.left, id)
		found = append(found, n)
		todo = append(todo, n.parents...)
	}
	slices.SortFunc(found, func(a, b node) int { return cmp.Compare(a.at, b.at) })
	out := make([]mine.InnerCommit, 0, min(len(found), innerMost))
	for _, n := range found[:min(len(found), innerMost)] {
		out = append(out, n.commit)
	}
	return out, nil
}

// load reads all commits that are not reached from the first merge's first
// parent.
func (m *merges) load(ctx context.Context, first mine.Change) error {
	m.left = map[string]node{}
	args := []string{"log", "-z", "--no-color", "--format=" + headerFormat, "--end-of-options", m.branch, "^" + first.Parents[0], "--"}
	err := m.repo.stream(ctx, args, func(record []byte) error {
		c, err := parseRecord(record)
		if err != nil {
			return err
		}
		m.left[c.Commit] = node{at: len(m.left), parents: c.Parents, commit: mine.InnerCommit{
			Commit: c.Commit, Author: c.Author, Authored: c.Authored, Subject: c.Subject, Body: c.Body,
		}}
		return nil
	})
	delete(m.left, first.Commit)
	return err
}
