package patch

import (
	"bytes"
	"context"
	"fmt"
	"path"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// Make is the git patch that turns base into after: binary-safe, with full
// object names, no renames. It is empty when nothing changed. Only what
// changed is handed to git.
func Make(ctx context.Context, base, after tree.Tree) ([]byte, error) {
	from, to := changed(base, after)
	if len(from)+len(to) == 0 {
		return nil, nil
	}
	s, err := newScratch()
	if err != nil {
		return nil, err
	}
	defer s.remove()
	if err := s.importTrees(ctx, []string{"refs/heads/from", "refs/heads/to"}, []tree.Tree{from, to}); err != nil {
		return nil, fmt.Errorf("making a patch: %w", err)
	}
	var out bytes.Buffer
	err = s.git(ctx, nil, &out, "diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames",
		"--no-textconv", "--no-ext-diff", "--no-color", "--src-prefix=a/", "--dst-prefix=b/",
		"--diff-algorithm=myers", "--no-indent-heuristic", "--unified=3", "refs/heads/from", "refs/heads/to")
	if err != nil {
		return nil, fmt.Errorf("making a patch: %w", err)
	}
	return out.Bytes(), nil
}

// changed cuts both trees down to the paths in which they differ.
func changed(base, after tree.Tree) (from, to tree.Tree) {
	from, to = tree.Tree{}, tree.Tree{}
	for p, b := range base {
		if a, ok := after[p]; (!ok || !tree.Same(a, b)) && !IsGit(p) {
			from[p] = b
		}
	}
	for p, a := range after {
		if b, ok := base[p]; (!ok || !tree.Same(a, b)) && !IsGit(p) {
			to[p] = a
		}
	}
	return from, to
}

// Apply is base with a git patch applied to it, exactly: a hunk that doesn't
// fit where it says is an error. Paths ".git" of base stay as they are.
func Apply(ctx context.Context, base tree.Tree, diff []byte) (tree.Tree, error) {
	if len(bytes.TrimSpace(diff)) == 0 {
		return base.Clone(), nil
	}
	sections, err := scan(diff)
	if err != nil {
		return nil, fmt.Errorf("reading a patch: %w", err)
	}
	touched := touchedPaths(sections)
	s, err := newScratch()
	if err != nil {
		return nil, err
	}
	defer s.remove()
	if err := pick(base, touched).WriteDir(s.work()); err != nil {
		return nil, fmt.Errorf("applying a patch: %w", err)
	}
	if err := s.git(ctx, bytes.NewReader(diff), nil, "apply", "--whitespace=nowarn", "-"); err != nil {
		return nil, fmt.Errorf("applying a patch: %w", err)
	}
	got, err := readDir(s.work())
	if err != nil {
		return nil, fmt.Errorf("applying a patch: %w", err)
	}
	return merge(base, got, touched)
}

// pick is the part of t that a patch touches.
func pick(t tree.Tree, touched map[string]bool) tree.Tree {
	out := tree.Tree{}
	for p := range touched {
		if e, ok := t[p]; ok {
			out[p] = e
		}
	}
	return out
}

// merge puts what a patch made of the touched paths back into base.
func merge(base, got tree.Tree, touched map[string]bool) (tree.Tree, error) {
	out := base.Clone()
	for p := range touched {
		delete(out, p)
	}
	for p, e := range got {
		if !touched[p] {
			return nil, fmt.Errorf("applying a patch: it made %q, which it doesn't name", p)
		}
		out[p] = e
	}
	for p := range got {
		for q := path.Dir(p); q != "."; q = path.Dir(q) {
			if _, ok := out[q]; ok {
				return nil, fmt.Errorf("applying a patch: %q lies below the file %q", p, q)
			}
		}
	}
	return out, nil
}

// Numstat counts the lines that a patch adds and removes (binary files have
// none). A patch that it can't read counts nothing.
func Numstat(diff []byte) (added, removed int) {
	sections, err := scan(diff)
	if err != nil {
		return 0, 0
	}
	for _, s := range sections {
		added += s.added
		removed += s.removed
	}
	return added, removed
}

// Sum is what a result says of a patch: its files with their kinds, lines
// and bytes.
func Sum(base, after tree.Tree, diff []byte) assay.Patch {
	added, removed := Numstat(diff)
	from, to := changed(base, after)
	return assay.Patch{Files: tree.Diff(from, to), Added: added, Removed: removed, Bytes: int64(len(diff))}
}
