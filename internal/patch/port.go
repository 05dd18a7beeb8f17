package patch

import (
	"context"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// Git is this package as a value, for ports such as run's; its methods are
// the functions of the same names.
type Git struct{}

// Make calls the function Make.
func (Git) Make(ctx context.Context, base, after tree.Tree) ([]byte, error) {
	return Make(ctx, base, after)
}

// Apply calls the function Apply.
func (Git) Apply(ctx context.Context, base tree.Tree, diff []byte) (tree.Tree, error) {
	return Apply(ctx, base, diff)
}

// Ignored calls the function Ignored.
func (Git) Ignored(ctx context.Context, base tree.Tree, paths []string) ([]string, error) {
	return Ignored(ctx, base, paths)
}

// Repository calls the function Repository.
func (Git) Repository(ctx context.Context, t tree.Tree) (tree.Tree, error) {
	return Repository(ctx, t)
}

// WithoutGit calls the function WithoutGit.
func (Git) WithoutGit(t tree.Tree) (tree.Tree, []string) { return WithoutGit(t) }

// Sum calls the function Sum.
func (Git) Sum(base, after tree.Tree, diff []byte) assay.Patch { return Sum(base, after, diff) }
