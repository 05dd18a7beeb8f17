package patch

import (
	"context"
	"fmt"
	"strings"

	"github.com/assaybot/assay/internal/tree"
)

// agentConfig is the configuration of the repository that an agent gets. It
// has a name to commit with, and nothing of ours.
const agentConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
[user]
	name = agent
	email = agent@localhost
[gc]
	auto = 0
`

// Repository is the folder .git, as files below ".git/", of a repository
// whose only commit is t. It holds no remote, tag, reflog, hook or date, and
// the same tree gives the same bytes (with the same git program).
func Repository(ctx context.Context, t tree.Tree) (tree.Tree, error) {
	s, err := newScratch()
	if err != nil {
		return nil, err
	}
	defer s.remove()
	const branch = "refs/heads/main"
	if err := s.importTrees(ctx, []string{branch}, []tree.Tree{t}); err != nil {
		return nil, fmt.Errorf("making the agent's repository: %w", err)
	}
	if err := s.git(ctx, nil, nil, "read-tree", branch); err != nil {
		return nil, fmt.Errorf("making the agent's repository: %w", err)
	}
	made, err := readDir(s.gitDir())
	if err != nil {
		return nil, fmt.Errorf("reading the agent's repository: %w", err)
	}
	out := tree.Tree{
		".git/HEAD":         tree.Text("ref: " + branch + "\n"),
		".git/config":       tree.Text(agentConfig),
		".git/info/exclude": tree.Text(""),
	}
	for p, e := range made {
		if p == "index" || strings.HasPrefix(p, "objects/") || strings.HasPrefix(p, "refs/") {
			out[".git/"+p] = tree.Entry{Mode: tree.File, Data: e.Data}
		}
	}
	return out, nil
}
