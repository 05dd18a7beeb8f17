// Package run executes the trials of a plan: it opens boxes, starts agents in
// them, watches three clocks, collects what is left and has it graded in a
// fresh box. It never talks to an engine, a model or the file system of a
// box itself: that is behind the ports of this file, which the edges
// implement.
package run

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// Paths inside of a box, below Box.Root.
const (
	WorkDir   = "/workspace" // the agent's working copy; owned by the box's user
	VerifyDir = "/verify"    // hidden files; owned by root, readable; grader boxes only
	ReportDir = "/report"    // reports of the grader; empty and writable before each check
	HomeDir   = "/home/agent"
	KitDir    = "/kits"
)

// Sandbox makes boxes. Implementations: docker, local. Conformance suite:
// sandboxtest.
type Sandbox interface {
	// Name is "docker" or "local".
	Name() string
	// Prepare makes sure that the image of env exists, building it when it
	// must; files is the build context (nil when env names an image).
	// Concurrent calls for the same environment build once. Progress goes
	// to log.
	Prepare(ctx context.Context, env assay.Environment, files tree.Tree, log io.Writer) (Image, error)
	// Open makes a box and starts it; nothing runs in it yet.
	Open(ctx context.Context, spec BoxSpec) (Box, error)
}

// Image is a prepared environment: a reference that Open takes, and the
// digest that a result records ("" for local).
type Image struct {
	Ref    string
	Digest string
}

// BoxSpec is everything that a box needs to know when it is made.
type BoxSpec struct {
	Run    string // labels of everything made for it
	Role   string // "agent", "grader", "proof"
	Image  Image
	Limits assay.Limits
	Kits   []Kit
	// Model, when it isn't nil, answers HTTP on the box's loopback address
	// at Box.ModelURL; it is the only thing that a box can reach.
	Model http.Handler
	// Network lifts the isolation (validation's runs that need it). Never
	// set for an agent's box.
	Network bool
	// MemoryWorkspace keeps the box's files in memory (short graders'
	// boxes); an implementation may ignore it.
	MemoryWorkspace bool
}

// Kit is a read-only folder with an agent program, made once per version and
// mounted at KitDir/<Name>.
type Kit struct {
	Name    string // "claude-code-2.1.197"
	Install []string
	// Dir is a folder of this machine that holds the kit already; the
	// local sandbox uses it in place, docker copies it into a volume once.
	Dir string
}

// Box is one isolated place. It can run one command after another; when Run
// returns, no process that the command started is alive, and files stay.
type Box interface {
	// Root is a prefix of every path of this file: "" in a container, a
	// temporary folder with local.
	Root() string
	// ModelURL is the base URL of the model inside of the box, "" for none.
	ModelURL() string
	// Put unpacks a tar stream into dir (absolute, without Root), made if
	// missing. Files belong to the box's user, or to root and are
	// read-only for it when own is false.
	Put(ctx context.Context, dir string, own bool, r io.Reader) error
	// Get writes dir (absolute, without Root) as a tar stream to w. A
	// missing dir is an empty archive. Sparse and special files are
	// listed with their type and no content; a stream over limit bytes
	// ends with ErrTooLarge.
	Get(ctx context.Context, dir string, limit int64, w io.Writer) error
	// Clear empties dir (absolute, without Root) and makes it anew,
	// writable by the box's user.
	Clear(ctx context.Context, dir string) error
	// Run runs a command to its end. A cancelled ctx kills everything in
	// the box and returns its Exit with Killed set, not an error; errors are
	// failures of the sandbox.
	Run(ctx context.Context, cmd Command) (Exit, error)
	// Facts are the limits that the engine reports as in force.
	Facts() assay.Box
	// Close removes the box and all that belongs to it, at once.
	Close(ctx context.Context) error
}

// ErrTooLarge is what Box.Get returns when the files are over the limit.
var ErrTooLarge = errTooLarge{}

type errTooLarge struct{}

func (errTooLarge) Error() string { return "the files are larger than the limit" }

// Command is a program to run in a box. A nil Stdin is empty input. Dir is
// absolute, without Root.
type Command struct {
	Argv   []string
	Dir    string
	Env    map[string]string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// Exit is how a command ended.
type Exit struct {
	Code   int
	Signal int // 0 when it exited by itself
	Killed bool
	OOM    bool
	CPU    time.Duration
	PeakMB int
	Wall   time.Duration
}

// Agent knows one agent program. It is pure: it returns commands and parsers
// and executes nothing.
type Agent interface {
	// Name is the agent's name in a Request.
	Name() string
	// Check says what can't work for a trial before anything is spent: a
	// missing model, an effort that the program doesn't know, missing
	// credentials. It tells all faults at once.
	Check(t assay.Trial, have Credentials) assay.Problems
	// Invoke says how to start the program for a trial.
	Invoke(in Invocation) (Launch, error)
}

// Credentials tells which providers the gateway has a key for, by name
// ("anthropic").
type Credentials map[string]bool

// Invocation is what an agent may use of a trial.
type Invocation struct {
	Trial    assay.Trial
	Task     assay.Task
	Prompt   string
	System   string // the variant's addition to the system prompt
	Limits   assay.Limits
	Root     string // prefix of paths: see Box.Root
	ModelURL string
	Token    string    // the trial's own token at the gateway
	Solution tree.Tree // reference solution laid over the base; oracle only
}

// Launch is a program to start, or, for reference agents, files to lay over
// the workspace without any program.
type Launch struct {
	Argv  []string
	Env   map[string]string
	Stdin string
	// Home are files laid into the box's home directory beforehand.
	Home tree.Tree
	// Overlay changes the workspace in place of a program (oracle, nop).
	Overlay tree.Tree
	// NoProgram: there is nothing to start; Overlay is all.
	NoProgram bool
	Kits      []Kit
	// Provider is the model API that the program speaks ("anthropic"), ""
	// when it needs no model.
	Provider string
	Parser   Parser
	// Transcripts are folders below the box's home in which the program
	// writes transcripts of its own (*.json, *.jsonl), those of its
	// subagents among them. They are kept with the attempt.
	Transcripts []string
	// Grace is how long the program may live after its terminal event.
	Grace time.Duration
}

// Parser reads a program's standard output while it comes. Write is called
// with arbitrary pieces and never fails; lines that it can't read are kept
// for the raw transcript only. Its memory is bounded whatever comes.
type Parser interface {
	io.Writer
	// Ended is true once a terminal event was seen.
	Ended() bool
	// Finish is called once, after the last Write. Steps go to the sink
	// that the parser was made with.
	Finish() assay.AgentFacts
}

// StepSink receives the steps of a trajectory as they are complete.
type StepSink interface{ Step(assay.Step) }

// NeedsSink is implemented by parsers that produce steps.
type NeedsSink interface{ SetSink(StepSink) }

// Gateway opens the way to models, one session per attempt.
type Gateway interface {
	// Credentials says for which providers there is a key or an upstream.
	Credentials() Credentials
	Session(spec SessionSpec) (Session, error)
}

// Outlet is the way from an agent's box to what its task allows besides the
// model.
type Outlet interface {
	// Open serves model (nil for none), and, as an HTTP proxy at the same
	// address, the destinations of allow ("host:port").
	Open(allow []string, model http.Handler) Way
}

// Way is one box's way out. Self names the box's address of the model;
// Refused are the destinations that were refused. Close ends every connection.
type Way interface {
	http.Handler
	Self(addr string)
	Refused() []assay.Refusal
	Close()
}

// SessionSpec bounds a session. Log receives one JSON line per call.
type SessionSpec struct {
	Provider   string
	Model      string
	MaxCostUSD float64
	Log        io.Writer
}

// Session is one attempt's way to its model: an HTTP handler that wants
// Token as the key and replaces it by the real one.
type Session interface {
	http.Handler
	Token() string
	// Calls is the account so far.
	Calls() assay.ModelCalls
	// Close ends calls under way.
	Close() error
}
