package run

import (
	"context"
	"io"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// Record is one attempt's place in the ledger.
type Record interface {
	// Number is the attempt's number, from 1.
	Number() int
	// Create makes a raw file that is written while the attempt runs.
	Create(name string) (io.WriteCloser, error)
	// Write makes a whole file, durable.
	Write(name string, data []byte) error
	// Read is a file that was written before.
	Read(name string) ([]byte, error)
	// Finish writes the result, last of all and durable.
	Finish(r assay.Result) error
}

// Files of an attempt. The facts are the result before its score: with the
// patch they are all that grading needs.
const (
	TranscriptFile = "transcript.jsonl"
	AgentFolder    = "agent" // transcripts that the program wrote itself
	TrajectoryFile = "trajectory.json"
	StderrFile     = "stderr.log"
	GatewayFile    = "gateway.jsonl"
	PatchFile      = "patch.diff"
	FactsFile      = "facts.json"
	ResultFile     = "result.json"
	WorkspaceFile  = "workspace_after.tar"
	CheckFolder    = "verify"
)

// Facts are what facts.json holds: everything that was seen before grading.
// The score is derived from them and the patch, and can be derived again.
type Facts struct {
	assay.Result
	// OOM: the engine says that the agent's box ran out of memory.
	OOM bool `json:"oom,omitempty"`
	// TooLarge: the workspace was over its limit, there is nothing to grade.
	TooLarge bool `json:"too_large,omitempty"`
}

// Patches makes patches and the agent's repository; see package patch for
// what each promises.
type Patches interface {
	Make(ctx context.Context, base, after tree.Tree) ([]byte, error)
	Apply(ctx context.Context, base tree.Tree, diff []byte) (tree.Tree, error)
	Ignored(ctx context.Context, base tree.Tree, paths []string) ([]string, error)
	Repository(ctx context.Context, t tree.Tree) (tree.Tree, error)
	// WithoutGit leaves out everything called ".git" and lists what lay
	// below the root.
	WithoutGit(t tree.Tree) (tree.Tree, []string)
	Sum(base, after tree.Tree, diff []byte) assay.Patch
}

// Grader judges what an agent left. It gives a result for each check of the
// task; an error is a failure of grading, never of the agent.
type Grader interface {
	Grade(ctx context.Context, g Grading) ([]assay.CheckResult, error)
}

// Grading is one workspace to judge. After is the base with the agent's
// patch; putting protected files back is the grader's work.
type Grading struct {
	Task                assay.Task
	Limits              assay.Limits
	Base, After, Verify tree.Tree
	// Open makes the fresh box; it is called once at most, by graders that
	// need one. The grader closes the box. It may hold Base already
	// (see Placed): Checks knows.
	Open func(ctx context.Context) (Box, error)
	// Out makes a raw file of the attempt below verify/.
	Out func(name string) (io.WriteCloser, error)
}

// Events hears how a run goes on. Calls come one at a time.
type Events interface {
	Started(t assay.Trial, attempt int)
	Finished(r assay.Result)
	// Retry: the attempt failed for the machinery's sake; the next one
	// begins after wait.
	Retry(r assay.Result, wait time.Duration)
	// Spent is the run's cost so far in US dollars, and all tokens.
	Spent(usd float64, tokens assay.Tokens)
}

// Job is a trial with all that it needs.
type Job struct {
	Trial  assay.Trial
	Task   assay.Task
	Prompt string // the statement; "" means Task.Prompt
	// Variant: text for the system prompt, and files over the workspace.
	System  string
	Overlay tree.Tree
	// The task's folders. Verify enters the grader's box only, Solution
	// goes to the reference agent only, Build is the image's context.
	Workspace, Verify, Solution, Build tree.Tree
	// KeepWorkspace writes what the agent left as a tar file.
	KeepWorkspace bool
	// Suite and other digests that the caller knows; run adds its own.
	Digests assay.Digests
}

// DeletedList is a file at the root of a reference solution that lists, one
// path a line, the files that the solution deletes. It never reaches a
// workspace.
const DeletedList = ".assay-deleted"
