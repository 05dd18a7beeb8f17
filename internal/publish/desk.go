package publish

import "context"

// Desk is a repository that is answered: scores are posted to it, tasks are
// proposed, and who asks for something is known. Its errors are those of
// Target.
type Desk interface {
	Target
	Proposer
	// MayWrite tells whether a person may change the repository, and the word
	// for what they may do.
	MayWrite(ctx context.Context, login string) (may bool, role string, err error)
	// Labelled are the numbers of the newest issues with a label, at most
	// most.
	Labelled(ctx context.Context, label string, most int) ([]int, error)
}

// Proposer makes pull requests.
type Proposer interface {
	// DefaultBranch is asked for each time: it may be renamed.
	DefaultBranch(ctx context.Context) (string, error)
	// Proposals are the pull requests from a branch of the repository, open
	// and closed, newest first, all pages.
	Proposals(ctx context.Context, branch string) ([]Proposal, error)
	Propose(ctx context.Context, p Proposal) (Proposal, error)
	// Revise replaces title and text.
	Revise(ctx context.Context, p Proposal) error
}

// Proposal is a pull request of ours. Head and Base are branches, SHA the
// commit of Head. Mine is true when the token's own account made it.
type Proposal struct {
	Number             int
	Title, Body        string
	Head, Base         string
	SHA, URL           string
	Open, Merged, Mine bool
}
