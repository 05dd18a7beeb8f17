// Package patch turns the difference of two trees into a git patch and back.
// It runs the git program in scratch repositories that it makes and removes;
// it never opens a repository that it was handed, never reads the machine's
// git configuration, runs no hook and no filter, and never changes a byte of
// content: attributes of the trees have no effect.
//
// A path with a component ".git" is no part of a patch. Empty folders don't
// exist.
package patch

import (
	"strings"

	"github.com/assaybot/assay/internal/tree"
)

// IsGit tells whether p lies in, or is, something called ".git", in any case
// of letters: git itself refuses such paths.
func IsGit(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

// WithoutGit splits t into what a patch can hold, and the folders and files
// called ".git" below the root that were left out (the root's own is not
// listed), in order.
func WithoutGit(t tree.Tree) (tree.Tree, []string) {
	out := make(tree.Tree, len(t))
	nested := map[string]bool{}
	for p, e := range t {
		if !IsGit(p) {
			out[p] = e
			continue
		}
		if at := gitFolder(p); at != ".git" {
			nested[at] = true
		}
	}
	return out, sorted(nested)
}

// gitFolder is p up to its first component ".git".
func gitFolder(p string) string {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		if strings.EqualFold(part, ".git") {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return p
}
