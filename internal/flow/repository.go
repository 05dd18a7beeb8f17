package flow

import (
	"context"
	"sync"

	"github.com/assaybot/assay/internal/mine"
	"github.com/assaybot/assay/internal/tree"
)

// Repository is what the mining road needs of a repository besides its
// history.
type Repository interface {
	mine.History
	// Dir is where the repository lies on this machine, URL its origin
	// without credentials ("" when it has none).
	Dir() string
	URL(ctx context.Context) string
	Resolve(ctx context.Context, rev string) (string, error)
	// Tree is a commit's files, byte for byte; submodules have none.
	Tree(ctx context.Context, commit string) (t tree.Tree, submodules []string, err error)
	// Diff is a binary-safe patch between two commits.
	Diff(ctx context.Context, from, to string, paths []string) ([]byte, error)
	// Before is the last commit of a branch before a Unix time.
	Before(ctx context.Context, branch string, unix int64) (string, error)
}

// Repositories opens a repository by path or address.
type Repositories func(ctx context.Context, name string) (Repository, error)

// repoCommits is Commits over Repositories. It keeps the last trees, since the
// tasks of a suite share bases and each is asked for once per trial.
type repoCommits struct {
	open Repositories

	mu    sync.Mutex
	repos map[string]Repository
	trees map[string]tree.Tree
	order []string
}

// keptTrees bounds the trees in memory.
const keptTrees = 4

// NewCommits makes a Commits of Repositories.
func NewCommits(open Repositories) Commits {
	return &repoCommits{open: open, repos: map[string]Repository{}, trees: map[string]tree.Tree{}}
}

func (c *repoCommits) Tree(ctx context.Context, repository, commit string) (tree.Tree, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := repository + "\x00" + commit
	if t, ok := c.trees[key]; ok {
		return t, nil
	}
	repo, ok := c.repos[repository]
	if !ok {
		var err error
		if repo, err = c.open(ctx, repository); err != nil {
			return nil, err
		}
		c.repos[repository] = repo
	}
	t, _, err := repo.Tree(ctx, commit)
	if err != nil {
		return nil, err
	}
	if c.order = append(c.order, key); len(c.order) > keptTrees {
		delete(c.trees, c.order[0])
		c.order = c.order[1:]
	}
	c.trees[key] = t
	return t, nil
}
