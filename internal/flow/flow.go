// Package flow is where stages meet: one file per use case (run, grade,
// report, lint, demo, mine, build, validate). It joins stages and stores
// through the ports that cmd/assay fills, and never imports an edge.
package flow

import (
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/redact"
	"github.com/assaybot/assay/internal/run"
	"github.com/assaybot/assay/internal/schema"
	"github.com/assaybot/assay/internal/tree"
)

// Flow is the program without its doors: use cases over the edges that it was
// given. Its fields are set once, by cmd/assay or a test.
type Flow struct {
	Version string
	// Owner names this process to people in lock files and labels.
	Owner string
	Now   func() time.Time

	Agents []run.Agent
	// UsesModels tells which agents are multiplied by models and efforts.
	UsesModels func(name string) bool
	Gateway    run.Gateway
	Outlet     run.Outlet
	Patches    run.Patches
	// Sandbox opens the sandbox called auto, docker or local for a run.
	Sandbox func(ctx context.Context, name, runID string) (Sandbox, error)
	// Kits readies the programs of agents before a run; it says on log what
	// takes long. Nil means that agents need none.
	Kits func(ctx context.Context, specs []assay.AgentSpec, log io.Writer) error

	// Tasks and Variants are the built-in ones.
	Tasks, Variants fs.FS
	// Commits gives the tree of a commit of a repository, for mined tasks.
	Commits Commits
	// Repos opens repositories for the mining road.
	Repos Repositories
	// Branches opens branches of remotes: the history, and new tasks.
	Branches Branches
	// Texts finds the server that a repository's name or address belongs to;
	// it gives nil for none. Nil means that there are no servers.
	Texts func(ctx context.Context, t MineTarget) (*TextServer, error)

	// Sample makes the demo's repository in a folder.
	Sample func(ctx context.Context, dir string) (DemoSample, error)

	// Hub starts a GitHub for the demo to post to.
	Hub func() (DemoHub, error)

	// Clock finds what shifts a box's clock; nil for a program without it.
	Clock func() Clock

	// GitHub is where scores are published.
	GitHub GitHub

	// Hide masks this machine's secrets in everything that a run keeps; nil
	// for none.
	Hide *redact.Mask

	CleanUp func(ctx context.Context, all bool) ([]string, error)
	Check   func(ctx context.Context) []Finding
	// CacheDir keeps what a run learns about this machine, "" for nowhere.
	CacheDir string
	// Free tells the room left on the disk of a folder, in bytes.
	Free func(dir string) (int64, error)
}

// Sandbox is an opened sandbox. Note says which it is and why, for a person.
type Sandbox struct {
	run.Sandbox
	// Host is where its boxes run; zero fields are unknown.
	Host  Host
	Note  string
	Close func(ctx context.Context) error
}

// Host is what a machine has that a task's tests may depend on.
type Host struct {
	Platform string  // "linux/amd64"
	CPUs     float64 // processors
	MemoryMB int
	Name     string // tells machines of one kind apart that differ otherwise
}

// Commits reads trees out of repositories, by address or path.
type Commits interface {
	Tree(ctx context.Context, repository, commit string) (tree.Tree, error)
}

// Finding is one line of doctor. Needed things are required for every use.
type Finding struct {
	Name   string
	OK     bool
	Needed bool
	Text   string
	Remedy string
}

// Nearest is the word of known that is most like word, "" if none is.
func Nearest(word string, known []string) string { return schema.Nearest(word, known) }

func (f *Flow) agents() map[string]run.Agent {
	out := make(map[string]run.Agent, len(f.Agents))
	for _, a := range f.Agents {
		out[a.Name()] = a
	}
	return out
}

func (f *Flow) agentNames() []string {
	out := make([]string, len(f.Agents))
	for i, a := range f.Agents {
		out[i] = a.Name()
	}
	return out
}
