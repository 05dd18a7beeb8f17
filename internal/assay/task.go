package assay

import "time"

// TaskKind says how a task is scored.
type TaskKind string

// The kinds of task.
const (
	KindCorrectness TaskKind = "correctness"
	KindPerformance TaskKind = "performance"
)

// Task is what task.json holds. The prompt is the problem as the agent gets
// it; the directory beside the file holds workspace, verify, solution and
// environment (see DESIGN section 4).
type Task struct {
	Schema   int      `json:"schema"`
	ID       string   `json:"id"`
	Title    string   `json:"title,omitempty"`
	Tier     string   `json:"tier,omitempty"`
	Kind     TaskKind `json:"kind,omitempty"`
	Language string   `json:"language,omitempty"`
	// Prompt is the statement. PromptFile names a file in the task's
	// directory instead; exactly one of the two is set.
	Prompt      string      `json:"prompt,omitempty"`
	PromptFile  string      `json:"prompt_file,omitempty"`
	Environment Environment `json:"environment"`
	Limits      Limits      `json:"limits"`
	Checks      []Check     `json:"checks"`
	// Protected are globs of files that grading puts back to their state at
	// the base, besides the built-in list (conftest.py, pytest.ini, ...).
	Protected []string `json:"protected,omitempty"`
	// Visible are globs of the tests that the agent sees; a
	// tests_unmodified check without paths means these.
	Visible []string `json:"visible_tests,omitempty"`

	// What a mined task says of itself.
	Repository string  `json:"repository,omitempty"`
	Source     *Source `json:"source,omitempty"`
	Base       *Base   `json:"base,omitempty"`
	// Scope says which existing tests must go on passing; "" is own.
	Scope      Scope       `json:"scope,omitempty"`
	FailToPass []string    `json:"FAIL_TO_PASS,omitempty"`
	PassToPass []string    `json:"PASS_TO_PASS,omitempty"`
	Strength   *Strength   `json:"strength,omitempty"`
	Validation *Validation `json:"validation,omitempty"`
}

// Scope says which existing tests must go on passing.
type Scope string

// The scopes: the tests in the change's own test files, or all of the
// repository, which catches what breaks elsewhere.
const (
	ScopeOwn Scope = "own"
	ScopeAll Scope = "all"
)

// Environment is where a task runs. At most one of Image, Dockerfile and
// Shared is set; none means the suite's default.
type Environment struct {
	// Image is a reference that the engine has or can pull.
	Image string `json:"image,omitempty"`
	// Dockerfile is a path in the task's directory; its folder is the
	// build context.
	Dockerfile string `json:"dockerfile,omitempty"`
	// Shared names a folder environment/<shared>/ of the suite that holds
	// a Dockerfile, so that tasks share one image.
	Shared string `json:"shared,omitempty"`
	// Setup are shell lines that run in the workspace, offline and as the
	// agent's user, before the agent starts and before grading.
	Setup []string          `json:"setup,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
	// Network is what the agent's box may reach besides the model; nil for
	// nothing. Setup and grading are offline whatever it says.
	Network *Network `json:"network,omitempty"`
	// Requires are programs that the local sandbox looks for on this
	// machine's PATH ("python3").
	Requires []string `json:"requires,omitempty"`
	// Platform such as "linux/amd64"; empty means any.
	Platform string `json:"platform,omitempty"`
	// Lock is the digest of the resolved dependencies, ImageDigest that of
	// the built image, as seen when the task was proven.
	Lock        string `json:"lock,omitempty"`
	ImageDigest string `json:"image_digest,omitempty"`
	// Undated are requirements for which the index tells no dates, so that
	// what was installed may be newer than the base.
	Undated []string `json:"undated,omitempty"`
}

// Network lists destinations, "host:port" each. A name may lead to public
// addresses only; a private one has to be listed itself ("10.0.0.7:8080").
type Network struct {
	Allow []string `json:"allow"`
}

// Limits bound one attempt. Zero means the default of DefaultLimits.
type Limits struct {
	// Seconds for the agent in all, until its first event, between two
	// events, and for one check.
	TimeoutSec    int `json:"timeout_sec,omitempty"`
	FirstEventSec int `json:"first_event_sec,omitempty"`
	IdleSec       int `json:"idle_sec,omitempty"`
	CheckSec      int `json:"check_sec,omitempty"`
	// MaxTurns and MaxCostUSD are handed to the agent; 0 means none.
	MaxTurns   int     `json:"max_turns,omitempty"`
	MaxCostUSD float64 `json:"max_cost_usd,omitempty"`
	// The box: processors, memory, processes, and the size of what the
	// agent may leave in the workspace.
	CPUs        float64 `json:"cpus,omitempty"`
	MemoryMB    int     `json:"memory_mb,omitempty"`
	Pids        int     `json:"pids,omitempty"`
	WorkspaceMB int     `json:"workspace_mb,omitempty"`
}

// DefaultLimits are the limits of a task that states none.
func DefaultLimits() Limits {
	return Limits{
		TimeoutSec: 1800, FirstEventSec: 300, IdleSec: 600, CheckSec: 300,
		CPUs: 2, MemoryMB: 4096, Pids: 1024, WorkspaceMB: 512,
	}
}

// Or fills every zero field of l from d.
func (l Limits) Or(d Limits) Limits {
	ints := []struct{ to, from *int }{
		{&l.TimeoutSec, &d.TimeoutSec}, {&l.FirstEventSec, &d.FirstEventSec},
		{&l.IdleSec, &d.IdleSec}, {&l.CheckSec, &d.CheckSec},
		{&l.MaxTurns, &d.MaxTurns}, {&l.MemoryMB, &d.MemoryMB},
		{&l.Pids, &d.Pids}, {&l.WorkspaceMB, &d.WorkspaceMB},
	}
	for _, p := range ints {
		if *p.to == 0 {
			*p.to = *p.from
		}
	}
	if l.MaxCostUSD == 0 {
		l.MaxCostUSD = d.MaxCostUSD
	}
	if l.CPUs == 0 {
		l.CPUs = d.CPUs
	}
	return l
}

// CheckKind names what a check looks at.
type CheckKind string

// The kinds of check.
const (
	CheckCommand         CheckKind = "command"
	CheckTests           CheckKind = "tests"
	CheckFileUnchanged   CheckKind = "file_unchanged"
	CheckFileContains    CheckKind = "file_contains"
	CheckFileNotContains CheckKind = "file_not_contains"
	CheckNoNewFiles      CheckKind = "no_new_files"
	CheckTestsUnmodified CheckKind = "tests_unmodified"
	CheckBenchmark       CheckKind = "benchmark"
)

// CheckKinds lists the kinds in the order in which they are documented.
func CheckKinds() []CheckKind {
	return []CheckKind{
		CheckCommand, CheckTests, CheckFileUnchanged, CheckFileContains,
		CheckFileNotContains, CheckNoNewFiles, CheckTestsUnmodified, CheckBenchmark,
	}
}

// Check is one hidden condition on the final workspace.
//
//   - command: Command must exit 0.
//   - tests: Command must write Report; every test of Tests must have passed
//     in it (no Tests: FAIL_TO_PASS and PASS_TO_PASS of the task, or, where
//     the task has neither, every test of the report, at least one), and
//     every test of MustFail must have failed.
//   - file_unchanged: no file that Paths match differs from the base.
//   - file_contains, file_not_contains: the files that Paths match hold (do
//     not hold) Text, or a match of Pattern.
//   - no_new_files: no file is new, except those that Paths match.
//   - tests_unmodified: no file that Paths match (default: the task's
//     visible_tests) was changed, removed or added to. A miss is the outcome
//     integrity.
//
// In Command, {work}, {verify} and {report} stand for the workspace, the
// hidden files and the path of the report; {runner} for assay's own folder of
// test runners (unittest_junit.py). A tests check with Shards runs its command
// once for each of them, with the shard's words (files or packages) in place
// of {tests}; what they report counts as one report.
type Check struct {
	Name string    `json:"name"`
	Kind CheckKind `json:"kind"`
	// Clause is the requirement that a miss breaks, in the words of the
	// statement.
	Clause     string   `json:"clause,omitempty"`
	Command    []string `json:"command,omitempty"`
	TimeoutSec int      `json:"timeout_sec,omitempty"`
	Report     *Report  `json:"report,omitempty"`
	Tests      []string `json:"tests,omitempty"`
	MustFail   []string `json:"must_fail,omitempty"`
	// Shards part the tests of the whole suite; the first holds the change's
	// own, and is the only one that runs when the task's scope is own.
	// FileSec bounds the rest: so many seconds for each word of a shard.
	Shards  [][]string `json:"shards,omitempty"`
	FileSec int        `json:"file_sec,omitempty"`
	Paths   []string   `json:"paths,omitempty"`
	Text    string     `json:"text,omitempty"`
	Pattern string     `json:"pattern,omitempty"`
}

// Report says where a tests check finds its verdicts. Path is a file or
// directory, "" or "{report}" for the path that assay makes up; format "auto"
// is not offered, since a verdict must never depend on a guess.
type Report struct {
	Format string `json:"format"`
	Path   string `json:"path,omitempty"`
}

// Source says where a task came from: kind pull, issue, feature or
// performance, its number, the gold commit and a link.
type Source struct {
	Kind   string    `json:"kind"`
	Number int       `json:"number,omitempty"`
	Commit string    `json:"commit,omitempty"`
	URL    string    `json:"url,omitempty"`
	Merged time.Time `json:"merged,omitzero"`
	Issues []int     `json:"issues,omitempty"`
}

// Base is the commit that the agent starts from and the rule that chose it:
// "parent" or "cutoff".
type Base struct {
	Commit string `json:"commit"`
	Rule   string `json:"rule"`
}

// Strength is the hunk ablation of the gold patch: of Hunks hunks taken out
// alone, Noticed made the hidden tests fail. Share is Noticed / Hunks.
type Strength struct {
	Hunks   int      `json:"hunks"`
	Noticed int      `json:"noticed"`
	Share   float64  `json:"share"`
	Missed  []string `json:"missed,omitempty"`
}

// Validation is what proves a task: how often each arm ran, what varied and
// was dropped, and what the tests needed.
type Validation struct {
	Status string `json:"status"`
	// Reason is typed and set when Status is rejected or quarantined.
	Reason string         `json:"reason,omitempty"`
	Detail string         `json:"detail,omitempty"`
	When   time.Time      `json:"when,omitzero"`
	Runs   map[string]int `json:"runs,omitempty"`
	// Probes says of each probe (clock, order) how it was made, or why it
	// was not.
	Probes map[string]string `json:"probes,omitempty"`
	Flaky  []string          `json:"flaky,omitempty"`
	Scope  Scope             `json:"scope,omitempty"`
	// BaseFailing are tests that the base has and fails, without any of the
	// change's.
	BaseFailing []string `json:"base_failing,omitempty"`
	// Dropped are files (or packages) of the whole suite that don't run, and
	// why: over their time, or no verdict. None of their tests is in
	// PASS_TO_PASS, and grading leaves them out too.
	Dropped map[string]string `json:"dropped,omitempty"`
	Digest  string            `json:"digest,omitempty"`
	Image   string            `json:"image,omitempty"`
	Needs   *Envelope         `json:"envelope,omitempty"`
	TestSec float64           `json:"test_seconds,omitempty"`
	WallSec float64           `json:"wall_seconds,omitempty"`
}

// Envelope is what the hidden tests needed at most, and on which platform.
type Envelope struct {
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	MemoryMB   int     `json:"memory_mb"`
	CPUs       float64 `json:"cpus,omitempty"`
	Platform   string  `json:"platform,omitempty"`
}
